/** Opens the store that the configuration asks for: chooses the adapter, and makes the store's clock. */

import { withContract } from '../adapters/contract.ts'
import { openSqlite } from '../adapters/sqlite/open.ts'
import {
  type Clock,
  type ClockEvent,
  ManualClock,
  type StoredTime,
  SystemClock,
  type TimeSource,
  toEpochSeconds,
} from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Store } from '../store/port.ts'
import { withPromptDeaths } from '../ttl/prompt-deaths.ts'
import { logClockEvent } from './clock-log.ts'
import type { Config } from './config.ts'
import type { QueryThreads } from './query-thread/query-threads.ts'
import type { ServerIndexKeys } from './server-index-keys.ts'

export interface OpenedStore {
  readonly store: Store
  readonly clock: Clock
  /** Resolves when the store has failed and cannot be trusted. */
  readonly failed: Promise<Error>
  /** The connections of a store in PostgreSQL, by their state. */
  readonly countConnections: (() => Readonly<Record<string, number>>) | undefined
}

interface StoreParts {
  readonly log: Logger
  readonly timeSource: TimeSource
  readonly indexKeys: ServerIndexKeys
  readonly queries: QueryThreads
}

/** Smaller differences are normal, because clocks are corrected all the time. */
const clockAheadSecondsMax = 60

/** Whether the data is in a file of this machine, which the query threads can read. */
export function keepsFile({ directory, storeUrl }: Config): boolean {
  return directory !== undefined && storeUrl === undefined
}

export function storeName({ directory, storeUrl }: Config): string {
  if (storeUrl !== undefined) return 'postgres'
  return directory === undefined ? 'sqlite (memory)' : 'sqlite'
}

export async function openStore(config: Config, parts: StoreParts): Promise<OpenedStore> {
  const { log, timeSource } = parts
  const failed = Promise.withResolvers<Error>()
  let clock!: Clock
  const makeClock = (stored: StoredTime) => {
    clock = clockOf(config, stored, { log, timeSource })
    return clock
  }
  const onFatal = (error: Error) => {
    log.error({ error }, 'the store has failed; the server must stop')
    failed.resolve(error)
  }
  const { storeUrl } = config
  const { store, countConnections } =
    storeUrl === undefined
      ? { store: await openEmbedded(config, makeClock, onFatal, parts), countConnections: undefined }
      : await openRemote(storeUrl, makeClock, onFatal, parts)
  const checked = withContract(store)
  return {
    store: config.feedDeaths === 'deadline' ? withPromptDeaths(checked) : checked,
    clock,
    failed: failed.promise,
    countConnections,
  }
}

function clockOf(
  { clock, clockStepSecondsMax }: Config,
  stored: StoredTime,
  { log, timeSource }: Pick<StoreParts, 'log' | 'timeSource'>,
): Clock {
  const wall = Math.floor(timeSource.epochMs() / 1000)
  if (clock === 'manual') return new ManualClock(toEpochSeconds(Math.max(stored.mark, wall)))
  const onEvent = (event: ClockEvent) => logClockEvent(log, event)
  const made = new SystemClock(stored, { source: timeSource, stepSecondsMax: clockStepSecondsMax, onEvent })
  if (made.now() > wall + clockAheadSecondsMax) {
    log.warn(
      { highWaterMark: stored.mark, wall },
      'the data was last used at a later time than the clock of this machine shows; time continues from there',
    )
  }
  return made
}

type MakeClock = (stored: StoredTime) => Clock
type OnFatal = (error: Error) => void

async function openEmbedded(
  config: Config,
  clock: MakeClock,
  onFatal: OnFatal,
  { log, indexKeys, queries }: StoreParts,
): Promise<Store> {
  const { sortEntries, checkpoint } = keepsFile(config) ? queries : {}
  const store = openSqlite({
    directory: config.directory,
    clock,
    onFatal,
    onDisk: (condition, sentence) => {
      if (condition === 'refused') log.error({}, sentence)
      else log.info({}, sentence)
    },
    acceptLostWrites: config.acceptLostWrites,
    keysOf: indexKeys.keysOf,
    sortEntries,
    checkpoint,
  })
  await indexKeys.loadIfNeeded(store)
  return store
}

/** The PostgreSQL client is loaded only if it is used: it is an optional dependency. */
async function openRemote(
  url: string,
  clock: MakeClock,
  onFatal: OnFatal,
  { log, indexKeys }: StoreParts,
): Promise<Pick<OpenedStore, 'store' | 'countConnections'>> {
  // Another gateway may create a collection at any time.
  await indexKeys.loadForDocuments()
  const { openPostgres } = await import('../adapters/postgres/open.ts')
  let countConnections: OpenedStore['countConnections']
  const store = await openPostgres({
    url,
    clock,
    onFatal,
    onCondition: (condition, sentence) => {
      if (condition === 'away') log.warn({}, sentence)
      else log.info({}, sentence)
    },
    onOpened: count => {
      countConnections = count
    },
    keysOf: indexKeys.keysOf,
  })
  return { store, countConnections }
}
