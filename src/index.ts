/** The library: runs a whole Mayfly in this process, for tests. */

// Callers may have an older `lib`: this makes their compiler load the types of `await using`.
/// <reference lib="esnext.disposable" preserve="true" />

import { requireContainer } from './admin/named-resource.ts'
import { ManualClock } from './base/clock.ts'
import { parseDuration } from './base/duration.ts'
import { RequestError } from './base/error.ts'
import { silentLog } from './base/log.ts'
import { parsePartitionKeyHeader } from './document/partition-key.ts'
import { wholeItemKey } from './engine/item-key.ts'
import { parseConfig, settings } from './server/config.ts'
import { startServer } from './server/start.ts'
import type { ContainerStatus, Explanation, Forecast, Preview } from './ttl/report-shapes.ts'

export type { ContainerStatus, Explanation, Forecast, Preview }

export interface MayflyOptions {
  /** `manual`: time moves only with `db.clock`. */
  readonly clock?: 'system' | 'manual'
  /** Keep the data in this directory instead of in memory. */
  readonly data?: string
  /** `postgres://…`: keep the data in PostgreSQL (experimental). */
  readonly store?: string
  /** The default, 0, takes any free port. */
  readonly port?: number
  /** The default, 0, takes any free port. */
  readonly mongoPort?: number
  /** Whether the field `ttl` of a Mongo document sets its lifespan. The default is true. */
  readonly mongoDocumentTtl?: boolean
  /** Lets Mongo clients make commands fail (`configureFailPoint`). The default is false. */
  readonly enableTestCommands?: boolean
  readonly key?: string
  readonly rateLimit?: boolean
  readonly strict?: boolean
  /** When feeds of all versions report a death: when the item is removed (default), or at its deadline. */
  readonly feedDeaths?: 'purge' | 'deadline'
  /** Physical partitions of new containers. */
  readonly partitions?: number
}

/** With null as its port, Mongo is not served. */
export interface MayflyOptionsWithoutMongo extends Omit<MayflyOptions, 'mongoPort'> {
  readonly mongoPort: null
}

export interface ItemName {
  readonly id: string
  /** One value, or a list of values for a hierarchical key. */
  readonly partitionKey: unknown
}

export interface Mayfly extends MayflyWithoutMongo {
  /** Contains the key. */
  readonly mongoUri: string
  /** The same with the name of a database, as `mongodb-memory-server` has it. */
  getUri(database?: string): string
}

/** What `db.snapshot()` kept. */
export interface KeptData {
  readonly name: string
  /** Living items in it. */
  readonly items: number
}

/** What there is with `mongoPort: null`. */
export interface MayflyWithoutMongo extends AsyncDisposable {
  readonly endpoint: string
  readonly mongoUri: string | null
  readonly key: string
  /** `AccountEndpoint=…;AccountKey=…;` */
  readonly connectionString: string
  readonly clock: {
    /** The time that decides when items die, in seconds since 1970. */
    now(): number
    /** Seconds, or `'60s'`, `'5m'`, `'24h'`, `'90d'`. Only a manual clock moves. Returns the new time. */
    advance(duration: number | string): Promise<number>
    set(epochSeconds: number): Promise<number>
  }
  /** Removes all dead items now. Readers see no difference. */
  purge(): Promise<{ removed: number }>
  /** Deletes every database. */
  reset(): Promise<void>
  /** Keeps the present data in memory, until the server is closed. */
  snapshot(): Promise<KeptData>
  /** Goes back to the data of a snapshot. The clock does not go back: what has died since then stays dead. */
  restore(snapshot: KeptData): Promise<void>
  readonly ttl: {
    status(database: string, container: string): Promise<ContainerStatus>
    explain(database: string, container: string, item: ItemName): Promise<Explanation>
    forecast(database: string, container: string, options?: { window?: string; buckets?: number }): Promise<Forecast>
    preview(database: string, container: string, defaultTtl: number | null): Promise<Preview>
  }
  close(): Promise<void>
  /** The same as `close`, for those who are used to it. */
  stop(): Promise<void>
}

/** Every option. The compiler insists that none is missing. */
const optionNames: Readonly<Record<keyof MayflyOptions, true>> = {
  clock: true,
  data: true,
  store: true,
  port: true,
  mongoPort: true,
  mongoDocumentTtl: true,
  enableTestCommands: true,
  key: true,
  rateLimit: true,
  strict: true,
  feedDeaths: true,
  partitions: true,
}

/** A misspelled option would be a setting that silently does nothing. */
function checkNames(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new RequestError('malformed', 'mayfly() takes one object with options.')
  }
  const unknown = Object.keys(options).find(name => !Object.hasOwn(optionNames, name))
  if (unknown === undefined) return
  throw new RequestError(
    'malformed',
    `mayfly() has no option '${unknown}'. It has ${Object.keys(optionNames).join(', ')}.`,
  )
}

export async function mayfly(options?: MayflyOptions): Promise<Mayfly>
export async function mayfly(options: MayflyOptionsWithoutMongo): Promise<MayflyWithoutMongo>
export async function mayfly(options: MayflyOptions | MayflyOptionsWithoutMongo = {}): Promise<MayflyWithoutMongo> {
  checkNames(options)
  const { clock: clockMode, data, store: storeUrl, port, mongoPort, mongoDocumentTtl, key } = options
  const { enableTestCommands, rateLimit, strict, feedDeaths, partitions } = options
  const config = parseConfig(
    settings(
      {
        port: String(port ?? 0),
        mongoPort: String(mongoPort ?? 0),
        noMongo: mongoPort === null,
        mongoDocumentTtl: mongoDocumentTtl === false ? 'off' : 'on',
        enableTestCommands: enableTestCommands ?? false,
        clock: clockMode ?? 'system',
        rateLimit: rateLimit === true ? 'on' : 'off',
        strict: strict ?? false,
        feedDeaths: feedDeaths ?? 'purge',
        logLevel: 'silent',
        ...(data === undefined ? { memory: true } : { data }),
        ...(key === undefined ? {} : { key }),
        ...(storeUrl === undefined ? {} : { store: storeUrl }),
        ...(partitions === undefined ? {} : { partitions: String(partitions) }),
      },
      {},
    ),
  )
  const server = await startServer(config, silentLog, { holdsProcess: false })
  const { engine, clock, endpoint, mongoUri } = server
  const { catalog, purger, reports } = engine

  function manualClock(): ManualClock {
    if (clock instanceof ManualClock) return clock
    throw new RequestError('precondition_failed', "Only a manual clock can be moved: mayfly({ clock: 'manual' }).")
  }

  let snapshotCount = 0
  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Promise.resolve(server[Symbol.asyncDispose]())
    return closing
  }
  return {
    endpoint,
    mongoUri,
    ...(mongoUri !== null && { getUri: (database: unknown) => uriOf(mongoUri, database) }),
    key: server.key,
    connectionString: `AccountEndpoint=${endpoint}/;AccountKey=${server.key};`,
    clock: {
      now: () => clock.now(),
      advance: async duration => {
        await engine.moment()
        return manualClock().advance(typeof duration === 'number' ? duration : parseDuration(duration))
      },
      set: async epochSeconds => manualClock().set(epochSeconds),
    },
    purge: async () => ({ removed: await purger.purgeNow(await catalog.everyContainer()) }),
    reset: () => catalog.reset(),
    snapshot: () => engine.snapshots.keep(`library-${++snapshotCount}`),
    restore: async ({ name }) => {
      await engine.snapshots.restore(name)
    },
    ttl: {
      status: async (database, container) => reports.ttlStatus(await requireContainer(engine, database, container)),
      explain: async (database, id, item) => {
        const container = await requireContainer(engine, database, id, 'json')
        const values = Array.isArray(item.partitionKey) ? item.partitionKey : [item.partitionKey]
        const components = parsePartitionKeyHeader(
          JSON.stringify(values.map(value => (value === undefined ? {} : value))),
        )
        return reports.explain(container, wholeItemKey(container, components, item.id))
      },
      forecast: async (database, id, { window = '24h', buckets = 24 } = {}) =>
        reports.forecast(await requireContainer(engine, database, id), {
          windowSeconds: parseDuration(window),
          bucketCount: buckets,
        }),
      preview: async (database, id, defaultTtl) =>
        reports.preview(await requireContainer(engine, database, id), defaultTtl),
    },
    close,
    stop: close,
    [Symbol.asyncDispose]: close,
  }
}

/** Users log in at `admin`, whatever database the URI names. */
function uriOf(mongoUri: string, database: unknown): string {
  if (database === undefined) return mongoUri
  const uri = new URL(mongoUri)
  uri.pathname = `/${encodeURIComponent(String(database))}`
  uri.searchParams.set('authSource', 'admin')
  return uri.href
}
