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
  /** `postgres://…`: keep the data in PostgreSQL, where other servers may share it. */
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
  /** Of a MongoDB document the `_id`, as extended JSON: `c1`, `7`, `{"$oid":"…"}`. */
  readonly id: string
  /** One value, or a list of values for a hierarchical key. MongoDB documents have none, unless sharded. */
  readonly partitionKey?: unknown
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

/** Every option and the type of its value. The compiler insists that none is missing. */
const optionTypes: Readonly<Record<keyof MayflyOptions, 'string' | 'number' | 'boolean'>> = {
  clock: 'string',
  data: 'string',
  store: 'string',
  port: 'number',
  mongoPort: 'number',
  mongoDocumentTtl: 'boolean',
  enableTestCommands: 'boolean',
  key: 'string',
  rateLimit: 'boolean',
  strict: 'boolean',
  feedDeaths: 'string',
  partitions: 'number',
}

const typeWords = { string: 'a text', number: 'a number', boolean: 'true or false' } as const

const optionName = (name: string) => `mayfly({ ${name} })`

/** A misspelled option or value would be a setting that silently does nothing. */
function checkOptions(options: unknown): void {
  if (typeof options !== 'object' || options === null || Array.isArray(options)) {
    throw new RequestError('malformed', 'mayfly() takes one object with options.')
  }
  for (const [name, value] of Object.entries(options)) {
    if (!Object.hasOwn(optionTypes, name)) {
      const known = Object.keys(optionTypes).join(', ')
      throw new RequestError('malformed', `mayfly() has no option '${name}'. It has ${known}.`)
    }
    const type = optionTypes[name as keyof MayflyOptions]
    if (value === undefined || typeof value === type || (name === 'mongoPort' && value === null)) continue
    throw new RequestError('malformed', `${optionName(name)} takes ${typeWords[type]}, not '${value}'.`)
  }
}

export async function mayfly(options?: MayflyOptions): Promise<Mayfly>
export async function mayfly(options: MayflyOptionsWithoutMongo): Promise<MayflyWithoutMongo>
export async function mayfly(options: MayflyOptions | MayflyOptionsWithoutMongo = {}): Promise<MayflyWithoutMongo> {
  checkOptions(options)
  const { clock: clockMode, data, store: storeUrl, port, mongoPort, mongoDocumentTtl, key } = options
  const { enableTestCommands, rateLimit, strict, feedDeaths, partitions } = options
  const values = parseConfig(
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
        ...(key === undefined ? {} : { key }),
        ...(storeUrl === undefined ? {} : { store: storeUrl }),
        ...(partitions === undefined ? {} : { partitions: String(partitions) }),
      },
      {},
    ),
    optionName,
  )
  const config = { ...values, directory: data }
  const server = await startServer(config, silentLog, { holdsProcess: false })
  const { endpoint, mongoUri } = server
  const { reports } = server.engine

  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Promise.resolve(server[Symbol.asyncDispose]())
    return closing
  }
  /** Every method goes through this, so that none answers for a server that is gone. */
  function opened() {
    if (closing === undefined) return server
    throw new RequestError('precondition_failed', 'The server was closed: start another with mayfly().')
  }
  function manualClock(): ManualClock {
    const { clock } = opened()
    if (clock instanceof ManualClock) return clock
    throw new RequestError('precondition_failed', "Only a manual clock can be moved: mayfly({ clock: 'manual' }).")
  }
  const findContainer = async (database: string, container: string) =>
    requireContainer(opened().engine, database, container)

  let snapshotCount = 0
  return {
    endpoint,
    mongoUri,
    ...(mongoUri !== null && {
      getUri: (database: unknown) => {
        opened()
        return uriOf(mongoUri, database)
      },
    }),
    key: server.key,
    connectionString: `AccountEndpoint=${endpoint}/;AccountKey=${server.key};`,
    clock: {
      now: () => opened().clock.now(),
      advance: async duration => {
        await opened().engine.moment()
        return manualClock().advance(parseDuration(duration))
      },
      set: async epochSeconds => manualClock().set(epochSeconds),
    },
    purge: async () => {
      const { catalog, purger } = opened().engine
      return { removed: await purger.purgeNow(await catalog.everyContainer()) }
    },
    reset: async () => {
      const { snapshots, catalog } = opened().engine
      await snapshots.alone(() => catalog.reset())
    },
    snapshot: async () => opened().engine.snapshots.keep(`library-${++snapshotCount}`),
    restore: async ({ name }) => {
      await opened().engine.snapshots.restore(name)
    },
    ttl: {
      status: async (database, id) => reports.ttlStatus(await findContainer(database, id)),
      explain: async (database, id, item) => {
        const container = await findContainer(database, id)
        const values = Array.isArray(item.partitionKey) ? item.partitionKey : [item.partitionKey]
        const text = JSON.stringify(values.map(value => (value === undefined ? {} : value)))
        if (container.encoding === 'bson') {
          const { possibleDocumentKeys } = await import('./mongo/collections/document-from-text.ts')
          const shard = item.partitionKey === undefined ? null : text
          return reports.explain(container, ...possibleDocumentKeys(container, item.id, shard))
        }
        return reports.explain(container, wholeItemKey(container, parsePartitionKeyHeader(text), item.id))
      },
      forecast: async (database, id, { window = '24h', buckets = 24 } = {}) =>
        reports.forecast(await findContainer(database, id), {
          windowSeconds: parseDuration(window),
          bucketCount: buckets,
        }),
      preview: async (database, id, defaultTtl) => reports.preview(await findContainer(database, id), defaultTtl),
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
