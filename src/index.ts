/** The library: runs a whole Mayfly in this process, for tests. */

import { requireContainer } from './admin/named-resource.ts'
import { ManualClock } from './base/clock.ts'
import { parseDuration } from './base/duration.ts'
import { RequestError } from './base/error.ts'
import { silentLog } from './base/log.ts'
import { parsePartitionKeyHeader } from './document/partition-key.ts'
import { wholeItemKey } from './engine/item-key.ts'
import type { ContainerStatus } from './engine/reports.ts'
import { parseConfig, settings } from './server/config.ts'
import { startServer } from './server/start.ts'
import type { Explanation, Forecast, Preview } from './ttl/report.ts'

export interface MayflyOptions {
  /** `manual`: time moves only with `db.clock`. */
  readonly clock?: 'system' | 'manual'
  /** Keep the data in this directory instead of in memory. */
  readonly data?: string
  /** `postgres://…`: keep the data in PostgreSQL (experimental). */
  readonly store?: string
  /** The default, 0, takes any free port. */
  readonly port?: number
  /** The default, 0, takes any free port. With null, Mongo is not served. */
  readonly mongoPort?: number | null
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

export interface ItemName {
  readonly id: string
  /** One value, or a list of values for a hierarchical key. */
  readonly partitionKey: unknown
}

export interface Mayfly extends AsyncDisposable {
  readonly endpoint: string
  /** Contains the key. Null if Mongo is not served. */
  readonly mongoUri: string | null
  readonly key: string
  /** `AccountEndpoint=…;AccountKey=…;` */
  readonly connectionString: string
  readonly clock: {
    /** The time that decides when items die, in seconds since 1970. */
    now(): number
    /** `'60s'`, `'5m'`, `'24h'`, `'90d'`. Only a manual clock moves. */
    advance(duration: string): Promise<number>
    set(epochSeconds: number): Promise<number>
  }
  /** Removes all dead items now. Readers see no difference. */
  purge(): Promise<{ removed: number }>
  /** Deletes every database. */
  reset(): Promise<void>
  readonly ttl: {
    status(database: string, container: string): Promise<ContainerStatus>
    explain(database: string, container: string, item: ItemName): Promise<Explanation>
    forecast(database: string, container: string, options?: { window?: string; buckets?: number }): Promise<Forecast>
    preview(database: string, container: string, defaultTtl: number | null): Promise<Preview>
  }
  close(): Promise<void>
}

export async function mayfly(options: MayflyOptions = {}): Promise<Mayfly> {
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

  let closing: Promise<void> | undefined
  const close = () => {
    closing ??= Promise.resolve(server[Symbol.asyncDispose]())
    return closing
  }
  return {
    endpoint,
    mongoUri,
    key: server.key,
    connectionString: `AccountEndpoint=${endpoint}/;AccountKey=${server.key};`,
    clock: {
      now: () => clock.now(),
      advance: async duration => {
        await engine.moment()
        return manualClock().advance(parseDuration(duration))
      },
      set: async epochSeconds => manualClock().set(epochSeconds),
    },
    purge: async () => ({ removed: await purger.purgeNow(await catalog.everyContainer()) }),
    reset: () => catalog.reset(),
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
    [Symbol.asyncDispose]: close,
  }
}
