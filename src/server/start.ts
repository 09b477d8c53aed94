/** The composition root: makes the parts of a server, connects them and opens the ports. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import type { QueryRows } from '../admin/export-calls.ts'
import type { MetricsContext } from '../admin/metrics/metrics-text.ts'
import { RequestCounters } from '../admin/metrics/request-counters.ts'
import { adminHandler, isAdminPath } from '../admin/server.ts'
import { AccountKeys } from '../base/account-keys.ts'
import { type Clock, machine, type TimeSource } from '../base/clock.ts'
import { HostNames } from '../base/host-names.ts'
import type { Logger } from '../base/log.ts'
import { MemoryAccount } from '../base/memory-account.ts'
import { Engine } from '../engine/engine.ts'
import { hasDateDeadlines } from '../mongo/collections/date-deadlines.ts'
import { mongoUri } from '../mongo/uri.ts'
import { EntraTokens } from '../nosql/access/entra-tokens.ts'
import { declaredByDefinition } from '../nosql/definitions/indexed-paths.ts'
import { nosqlServer } from '../nosql/server.ts'
import { answerObserver } from './answer-observer.ts'
import type { Config } from './config.ts'
import { withExplorerRedirect } from './explorer-redirect.ts'
import { ExplorerSide, isExplorerPath, mongoSide, page } from './explorer-side.ts'
import { entraSettings, FileReload } from './file-reload.ts'
import { nodeHttpHandler } from './http/node-http.ts'
import { listenHttp } from './http-listener.ts'
import { importSide } from './import-side.ts'
import { LazyMongo } from './lazy-mongo.ts'
import type { Listener } from './listener.ts'
import { giveBackWhenQuiet } from './memory/give-back.ts'
import { roomForGarbage } from './memory/heap-sizes.ts'
import { saveWhenLarge } from './memory/save-when-large.ts'
import { listenMongo } from './mongo-listener.ts'
import { keepsFile, openStore, storeName } from './open-store.ts'
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
    /** Whether the open ports keep the process alive. Those of the library must not. */
    readonly holdsProcess: boolean
    /** Where a system clock reads the time. Tests give their own. */
    readonly timeSource?: TimeSource
    /** Where traces and metrics are sent. */
    readonly telemetry?: TelemetrySettings | undefined
  },
): Promise<RunningServer> {
  const startedMs = machine.monotonicMs()
  const memory = MemoryAccount.ofBudget(config.memoryBudgetBytes)
  // Mistakes in files are found now: before there is a directory for the data, and not with the first client.
  const keys = new AccountKeys(config.keys)
  const entra = new EntraTokens(keys, entraSettings(config))
  const { tls } = config
  const certificate = tls === undefined ? certificateSource(config.directory) : () => readCertificate(tls)
  if (tls !== undefined) await certificate()
  const seed = config.seed === undefined ? undefined : (await import('../transfer/seed.ts')).readSeed(config.seed)
  const queries = new QueryThreads(keepsFile(config) ? config.directory : undefined, log, { memory })
  const indexKeys = new ServerIndexKeys()
  const { store, clock, failed, countConnections } = await openStore(config, { log, timeSource, indexKeys, queries })
  const { rateLimit, partitions, strict, host } = config
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
  const reload = new FileReload(config, { keys, entra, certificate, listeners, log })
  const counters = new RequestCounters()
  const metrics: MetricsContext = {
    engine,
    counters,
    memory,
    version,
    storeName: storeName(config),
    mongoState: () => mongo.opened?.state,
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
  const mongo = new LazyMongo(
    { engine, clock, log, memory, keys, version, settings: mongoSettings, onAnswer },
    indexKeys,
    startedMs,
  )
  const imports = importSide({ engine, strict, mongo: mongo.load })
  const doors = { nosql: nosql.door, mongo: async () => (await mongo.load()).door }
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
    reloadKeys: reload.keys,
    uptimeMs: () => machine.monotonicMs() - startedMs,
    certificate: async () => (await certificate()).authority,
    imports,
    queryRows: rowsOf,
    dataDirectory: config.storeUrl === undefined ? config.directory : undefined,
  })

  let mongoPort: number | undefined
  const explorer = new ExplorerSide(log, {
    ...{ engine, clock, keys, hostNames, memory, log, version, strict, imports, queryRows: rowsOf },
    storeName: storeName(config),
    keepsData: config.directory !== undefined || config.storeUrl !== undefined,
    startedMs: machine.epochMs() - (machine.monotonicMs() - startedMs),
    nosql: nosql.door,
    mongo: () => mongoSide(mongo.load),
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

  // In the library, the memory belongs to the program that uses it.
  const givingBack = holdsProcess ? giveBackWhenQuiet({ memory, activity: () => counters.answers, log }) : undefined
  const saving = holdsProcess ? saveWhenLarge({ memory }) : undefined
  const room = holdsProcess ? roomForGarbage() : undefined

  async function close(): Promise<void> {
    givingBack?.[Symbol.dispose]()
    saving?.[Symbol.dispose]()
    room?.[Symbol.dispose]()
    await explorer.close()
    await Promise.all(listeners.map(listener => listener[Symbol.asyncDispose]()))
    await nosql[Symbol.asyncDispose]()
    await exporter?.[Symbol.asyncDispose]()
    await queries[Symbol.asyncDispose]()
    await engine[Symbol.asyncDispose]()
  }
  try {
    if (seed !== undefined) {
      await (await import('./seed.ts')).seedStore(engine, imports, seed, log)
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
            load: mongo.load,
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
      reloadFiles: reload.all,
      engine,
      clock,
      failed,
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
