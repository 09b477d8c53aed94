/** The composition root: the one place that chooses an adapter, makes the clock and opens the port. */

import { readFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { withContract } from '../adapters/contract.ts'
import type { PostgresOptions } from '../adapters/postgres/open.ts'
import { openSqlite } from '../adapters/sqlite/open.ts'
import type { SqliteOptions } from '../adapters/sqlite/store.ts'
import type { QueryRows } from '../admin/export-calls.ts'
import type { MetricsContext } from '../admin/metrics/metrics-text.ts'
import { RequestCounters } from '../admin/metrics/request-counters.ts'
import { adminHandler, isAdminPath } from '../admin/server.ts'
import { AccountKeys } from '../base/account-keys.ts'
import {
  type Clock,
  type ClockEvent,
  ManualClock,
  machine,
  type StoredTime,
  SystemClock,
  type TimeSource,
  toEpochSeconds,
} from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { HostNames } from '../base/host-names.ts'
import type { Logger } from '../base/log.ts'
import { MemoryAccount } from '../base/memory-account.ts'
import { Engine } from '../engine/engine.ts'
import { hasDateDeadlines } from '../mongo/collections/date-deadlines.ts'
import type { MongoServer } from '../mongo/server.ts'
import { mongoUri } from '../mongo/uri.ts'
import { type EntraSettings, parseEntraSettings } from '../nosql/access/entra-settings.ts'
import { EntraTokens } from '../nosql/access/entra-tokens.ts'
import { declaredByDefinition } from '../nosql/definitions/indexed-paths.ts'
import { nosqlServer } from '../nosql/server.ts'
import type { Store } from '../store/port.ts'
import { withPromptDeaths } from '../ttl/prompt-deaths.ts'
import { answerObserver } from './answer-observer.ts'
import { logClockEvent } from './clock-log.ts'
import { type Config, checkExposure, readKeyFile } from './config.ts'
import { withExplorerRedirect } from './explorer-redirect.ts'
import { ExplorerSide, isExplorerPath, mongoSide, page } from './explorer-side.ts'
import { nodeHttpHandler } from './http/node-http.ts'
import { listenHttp } from './http-listener.ts'
import { importSide } from './import-side.ts'
import type { Listener } from './listener.ts'
import { giveBackWhenQuiet } from './memory/give-back.ts'
import { listenMongo } from './mongo-listener.ts'
import { QueryThreads } from './query-thread/query-threads.ts'
import { ServerIndexKeys } from './server-index-keys.ts'
import { enableSharedReading } from './sockets/shared-read-probe.ts'
import type { TelemetrySettings } from './telemetry/settings.ts'
import { certificateSource, readCertificate } from './tls/certificate.ts'
import { version } from './version.ts'

export interface RunningServer extends AsyncDisposable {
  readonly endpoint: string
  /** Contains the key. Null if Mongo is not served. */
  readonly mongoUri: string | null
  /** The primary key. */
  readonly key: string
  /**
   * Reads the files with keys, the certificate and the settings for Entra ID again. A key that is no longer
   * in its file is refused from now on. A file that cannot be used changes nothing, nor do those after it.
   */
  reloadFiles(): Promise<void>
  readonly engine: Engine
  readonly clock: Clock
  /** Resolves when the store has failed and cannot be trusted. The server must stop then. */
  readonly failed: Promise<Error>
}

export async function startServer(
  config: Config,
  log: Logger,
  {
    holdsProcess,
    timeSource = machine,
    telemetry,
  }: {
    /** Whether the open port keeps the process alive. That of the library must not. */
    readonly holdsProcess: boolean
    /** Where a system clock reads the time. Tests give their own. */
    readonly timeSource?: TimeSource
    /** Where traces and metrics are sent. */
    readonly telemetry?: TelemetrySettings | undefined
  },
): Promise<RunningServer> {
  const startedMs = machine.monotonicMs()
  const failed = Promise.withResolvers<Error>()
  let clock!: Clock
  const makeClock = (stored: StoredTime) => {
    const wall = Math.floor(timeSource.epochMs() / 1000)
    if (config.clock === 'manual') {
      clock = new ManualClock(toEpochSeconds(Math.max(stored.mark, wall)))
      return clock
    }
    const onEvent = (event: ClockEvent) => logClockEvent(log, event)
    clock = new SystemClock(stored, { source: timeSource, stepSecondsMax: config.clockStepSecondsMax, onEvent })
    if (clock.now() > wall + clockAheadSecondsMax) {
      log.warn(
        { highWaterMark: stored.mark, wall },
        'the data was last used at a later time than the clock of this machine shows; time continues from there',
      )
    }
    return clock
  }
  const onFatal = (error: Error) => {
    log.error({ error }, 'the store has failed; the server must stop')
    failed.resolve(error)
  }
  const onDisk: SqliteOptions['onDisk'] = (condition, sentence) => {
    if (condition === 'refused') log.error({}, sentence)
    else log.info({}, sentence)
  }
  const onPostgres: PostgresOptions['onCondition'] = (condition, sentence) => {
    if (condition === 'away') log.warn({}, sentence)
    else log.info({}, sentence)
  }
  let countConnections: (() => Readonly<Record<string, number>>) | undefined
  const onOpened = (count: () => Readonly<Record<string, number>>) => {
    countConnections = count
  }
  const memory = MemoryAccount.ofBudget(config.memoryBudgetBytes)
  const { directory } = config
  const isFile = directory !== undefined && config.storeUrl === undefined
  const queries = new QueryThreads(isFile ? directory : undefined, log, { memory })
  const heard = { onFatal, onDisk, onPostgres, onOpened }
  const indexKeys = new ServerIndexKeys()
  const opened = withContract(await openStore(config, makeClock, heard, indexKeys, isFile ? queries : undefined))
  const store = config.feedDeaths === 'deadline' ? withPromptDeaths(opened) : opened
  const { rateLimit, partitions, strict, host } = config
  const keys = new AccountKeys(config.keys)
  const hostNames = new HostNames(host, config.allowedHosts)
  const engine = new Engine({
    store,
    rateLimit,
    partitions,
    log,
    declaredIndexes: declaredByDefinition,
    pageRunner: queries,
    hasFixedDeadlines: hasDateDeadlines,
    slowQueryMs: config.slowQueryMs,
  })
  const listeners: Listener[] = []
  const reloadKeys = () => {
    if (config.keyFile === undefined) {
      throw new RequestError('precondition_failed', 'The keys can be changed only if they are in a file: --key-file.')
    }
    const found = readKeyFile(config.keyFile)
    checkExposure(config, found)
    keys.replace(found)
    log.info({ keys: found.length, readOnly: found.filter(({ isReadOnly }) => isReadOnly).length }, 'new account keys')
  }
  const { tls } = config
  const certificate = tls === undefined ? certificateSource(config.directory) : () => readCertificate(tls)
  // Mistakes in the files are found now, and not with the first connection.
  if (tls !== undefined) await certificate()
  const entra = new EntraTokens(keys, entraSettings(config))
  const reloadFiles = async () => {
    if (config.keyFile !== undefined) reloadKeys()
    if (config.entraFile !== undefined) {
      entra.replace(entraSettings(config))
      log.info({ file: config.entraFile }, 'new settings for Entra ID tokens')
    }
    if (tls === undefined) return
    await certificate()
    for (const listener of listeners) listener.renewCertificate()
    log.info({ file: tls.certificate }, 'new connections get the certificate as it is now')
  }
  const counters = new RequestCounters()
  const metrics: MetricsContext = {
    engine,
    counters,
    memory,
    version,
    storeName: storeName(config),
    mongoState: () => openedMongo?.state,
    storeConnections: () => countConnections?.(),
  }
  const exporter = telemetry === undefined ? undefined : await startExporter(telemetry, metrics, log)
  const onAnswer = answerObserver(config, { counters, log, trace: exporter?.observe })
  const nosql = nosqlServer({
    engine,
    keys,
    entra,
    hostNames,
    memory,
    strict,
    log,
    onAnswer,
  })
  const mongoSettings = {
    isDocumentTtlOn: config.mongoDocumentTtl,
    areExpiryEventsOn: true,
    areTestCommandsOn: config.areTestCommandsOn,
  }
  const imports = importSide({ engine, strict, mongo: () => loadMongo() })
  const doors = { nosql: nosql.door, mongo: async () => (await loadMongo()).door }
  const rowsOf: QueryRows = async function* (...asked) {
    const { queryRows } = await import('./query-rows.ts')
    yield* queryRows(doors, ...asked)
  }
  const admin = adminHandler({
    ...metrics,
    mongoSettings,
    documentKeys: async (...named) =>
      (await import('../mongo/collections/document-from-text.ts')).possibleDocumentKeys(...named),
    diesByDates: hasDateDeadlines,
    clock,
    log,
    keys,
    hostNames,
    reloadKeys,
    uptimeMs: () => machine.monotonicMs() - startedMs,
    certificate: async () => (await certificate()).authority,
    imports,
    queryRows: rowsOf,
    dataDirectory: config.storeUrl === undefined ? config.directory : undefined,
  })

  let mongo: Promise<MongoServer> | undefined
  let openedMongo: MongoServer | undefined
  const loadMongo = () => {
    mongo ??= openMongo().catch(error => {
      // The next client tries again: the store was away.
      mongo = undefined
      throw error
    })
    return mongo
  }
  const openMongo = async () => {
    const { MongoServer } = await import('../mongo/server.ts')
    await indexKeys.loadForDocuments()
    openedMongo = await MongoServer.open({
      engine,
      clock,
      log,
      memory,
      keys,
      version,
      settings: mongoSettings,
      uptimeMs: () => machine.monotonicMs() - startedMs,
      onAnswer,
    })
    return openedMongo
  }

  let mongoPort: number | undefined
  const explorer = new ExplorerSide(log, {
    ...{ engine, clock, keys, hostNames, memory, log, version, strict, imports, queryRows: rowsOf },
    storeName: storeName(config),
    keepsData: config.directory !== undefined || config.storeUrl !== undefined,
    startedMs: machine.epochMs() - (machine.monotonicMs() - startedMs),
    nosql: nosql.door,
    mongo: () => mongoSide(loadMongo),
    mongoSwitches: mongoSettings,
    mongoPort: () => mongoPort,
    page,
  })

  const front = withExplorerRedirect(nosql)
  const protocol = nodeHttpHandler(front, memory)
  const isProtocolPath = (url: string) => url.startsWith('/dbs') || !(isAdminPath(url) || isExplorerPath(url))
  const handler = (req: IncomingMessage, res: ServerResponse) => {
    const url = req.url ?? '/'
    if (isExplorerPath(url)) explorer.handle(req, res)
    else if (isProtocolPath(url)) protocol(req, res)
    else admin(req, res)
  }

  // The memory of another program is its own affair.
  const givingBack = holdsProcess ? giveBackWhenQuiet({ memory, activity: () => counters.answers, log }) : undefined

  async function close(): Promise<void> {
    givingBack?.[Symbol.dispose]()
    await explorer.close()
    await Promise.all(listeners.map(listener => listener[Symbol.asyncDispose]()))
    await nosql[Symbol.asyncDispose]()
    await exporter?.[Symbol.asyncDispose]()
    await queries[Symbol.asyncDispose]()
    await engine[Symbol.asyncDispose]()
  }
  try {
    if (config.seed !== undefined) {
      await (await import('./seed.ts')).seedStore(engine, imports, config.seed, log)
    }
    const fastLane = { nosql: front, memory, isProtocolPath }
    const common = { host, connectionsMax: config.connectionsMax, certificate, log, holdsProcess }
    const web = await listenHttp({ ...common, port: config.port, portName: config.nameOf('port'), handler, fastLane })
    listeners.push(web)
    const wire =
      config.mongoPort === undefined
        ? undefined
        : await listenMongo({
            ...common,
            port: config.mongoPort,
            portName: config.nameOf('mongoPort'),
            load: loadMongo,
            isNeeded: await hasCollections(engine),
          })
    if (wire !== undefined) listeners.push(wire)
    mongoPort = wire?.port
    // Not awaited: the start must not wait for it. Connections that come earlier do not share.
    enableSharedReading(log)
    const name = host.includes(':') ? `[${host}]` : host
    return {
      endpoint: `http://${name}:${web.port}`,
      mongoUri: wire === undefined ? null : mongoUri({ host: name, port: wire.port, key: keys.primary }),
      key: keys.primary,
      reloadFiles,
      engine,
      clock,
      failed: failed.promise,
      [Symbol.asyncDispose]: close,
    }
  } catch (error) {
    await close()
    throw error
  }
}

async function hasCollections({ catalog }: Engine): Promise<boolean> {
  return (await catalog.everyContainer()).some(({ encoding }) => encoding === 'bson')
}

/** Its code is loaded only where telemetry is wanted. */
async function startExporter(settings: TelemetrySettings, metrics: MetricsContext, log: Logger) {
  const [{ TelemetryExporter }, { collectMetrics }] = await Promise.all([
    import('./telemetry/exporter.ts'),
    import('../admin/metrics/metrics-text.ts'),
  ])
  return new TelemetryExporter(settings, { version, collect: () => collectMetrics(metrics), log })
}

function entraSettings({ entraFile }: Config): EntraSettings | undefined {
  if (entraFile === undefined) return undefined
  let text: string
  try {
    text = readFileSync(entraFile, 'utf8')
  } catch (error) {
    throw new RequestError('malformed', `The file ${entraFile} cannot be read (--entra).`, { cause: error })
  }
  return parseEntraSettings(text, entraFile)
}

interface StoreListeners extends Pick<SqliteOptions, 'onFatal' | 'onDisk'>, Pick<PostgresOptions, 'onOpened'> {
  readonly onPostgres: PostgresOptions['onCondition']
}

/** The PostgreSQL client is loaded only if it is used: it is an optional dependency. */
async function openStore(
  { directory, storeUrl, acceptLostWrites }: Config,
  clock: (stored: StoredTime) => Clock,
  { onFatal, onDisk, onPostgres, onOpened }: StoreListeners,
  indexKeys: ServerIndexKeys,
  queries: QueryThreads | undefined,
): Promise<Store> {
  const { keysOf } = indexKeys
  if (storeUrl === undefined) {
    const { sortEntries, checkpoint } = queries ?? {}
    const store = openSqlite({
      directory,
      clock,
      onFatal,
      onDisk,
      acceptLostWrites,
      keysOf,
      sortEntries,
      checkpoint,
    })
    await indexKeys.loadIfNeeded(store)
    return store
  }
  // Another gateway may create a collection at any time.
  await indexKeys.loadForDocuments()
  const { openPostgres } = await import('../adapters/postgres/open.ts')
  return openPostgres({ url: storeUrl, clock, onFatal, onCondition: onPostgres, onOpened, keysOf })
}

function storeName({ directory, storeUrl }: Config): string {
  if (storeUrl !== undefined) return 'postgres'
  return directory === undefined ? 'sqlite (memory)' : 'sqlite'
}

/** Smaller differences are normal, because clocks are corrected all the time. */
const clockAheadSecondsMax = 60
