/**
 * Databases and containers: finds, creates, changes and deletes them.
 *
 * If something does not exist, or a name is taken, the answer is undefined or false. Each edge turns that
 * into its own error.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { newResourceNumber } from '../base/identifier.ts'
import { partitionsMax, throughputDefault } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type {
  ContainerChange,
  ContainerDraft,
  ContainerRecord,
  DatabaseRecord,
  Epitaph,
  Throughput,
} from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { changeDefault, newPolicy } from '../ttl/lifespan.ts'
import { ruPerSecond } from '../units/ledger.ts'
import { systemDatabase } from './system-items.ts'

/** Most RU per second that one physical partition serves, as the service documents it. */
const partitionRuMax = 10_000

/**
 * A new container with manual throughput gets one partition for this many RU per second, as the service
 * documents it.
 */
const newPartitionRuMax = 6_000

const defaultThroughput: Throughput = { kind: 'manual', ruPerSecond: throughputDefault }

/** A container as an edge describes it. */
export type NewContainer = Pick<
  ContainerDraft,
  'id' | 'partitionKey' | 'definition' | 'throughput' | 'declaredIndexes'
> &
  Partial<Pick<ContainerDraft, 'encoding' | 'logSeconds' | 'note'>> & { readonly defaultTtl: number | null }

/** Fields that are absent do not change. */
export type ContainerEdit = Pick<ContainerChange, 'id' | 'definition' | 'logSeconds' | 'notes'> & {
  readonly defaultTtl?: number | null
}

export class Catalog {
  readonly #store: Store
  readonly #partitions: number | undefined

  /** `partitions`: physical partitions of new containers; undefined means by throughput. */
  constructor(store: Store, partitions: number | undefined) {
    this.#store = store
    this.#partitions = partitions
  }

  /** All databases except Mayfly's own. */
  databases(): MaybePromise<readonly DatabaseRecord[]> {
    return andThen(this.#store.databases(), all => all.filter(({ id }) => id !== systemDatabase))
  }

  findDatabase(id: string): MaybePromise<DatabaseRecord | undefined> {
    return this.#store.findDatabase(id)
  }

  /** Returns undefined if the name is taken. */
  createDatabase(id: string, throughput: Throughput | null): Promise<DatabaseRecord | undefined> {
    return this.#store.createDatabase({ id, throughput, rid: newResourceNumber() })
  }

  /** Returns false if it did not exist any more. */
  deleteDatabase(database: DatabaseRecord, epitaph?: Epitaph): Promise<boolean> {
    return this.#store.deleteDatabase(database, epitaph)
  }

  /**
   * Stores a note in the journal about a database, without changing the database. Returns false if it did
   * not exist any more.
   */
  async noteDatabase(database: DatabaseRecord, note: Epitaph): Promise<boolean> {
    return (await this.#store.updateDatabase(database, ({ throughput }) => ({ throughput, note }))) !== undefined
  }

  /** The containers of both APIs. */
  containers(database: DatabaseRecord): MaybePromise<readonly ContainerRecord[]> {
    return this.#store.containers(database)
  }

  /** A container of either API; its encoding tells which. */
  findContainer(database: string, id: string): MaybePromise<ContainerRecord | undefined> {
    return this.#store.findContainer(database, id)
  }

  /** The containers of all databases, including Mayfly's own. */
  async everyContainer(): Promise<ContainerRecord[]> {
    const databases = await this.#store.databases()
    return (await Promise.all(databases.map(database => this.#store.containers(database)))).flat()
  }

  /**
   * Returns undefined if the name is taken. Without a throughput of its own, a container shares that of its
   * database, or gets the service's minimum.
   */
  createContainer(database: DatabaseRecord, wanted: NewContainer): Promise<ContainerRecord | undefined> {
    const { id, partitionKey, definition, defaultTtl } = wanted
    const { encoding = 'json', logSeconds = null, declaredIndexes = [], note } = wanted
    const shared = database.throughput === null ? defaultThroughput : null
    const throughput = wanted.throughput ?? shared
    return this.#store.createContainer(database, {
      id,
      partitionKey,
      definition,
      throughput,
      rid: newResourceNumber(),
      partitionCount: this.#partitions ?? partitionsFor(throughput ?? database.throughput, throughput !== null),
      encoding,
      policy: newPolicy(defaultTtl),
      logSeconds,
      declaredIndexes,
      note,
    })
  }

  /**
   * The edit is computed from the current record inside the transaction, so two changes cannot overwrite each
   * other. Returns undefined if the container does not exist any more, or its new name is taken.
   */
  changeContainer(
    container: ContainerRecord,
    edit: (current: ContainerRecord, moment: EpochSeconds) => ContainerEdit,
  ): Promise<ContainerRecord | undefined> {
    return this.#store.updateContainer(container, (current, moment, sure): ContainerChange => {
      const { defaultTtl, ...change } = edit(current, moment)
      if (defaultTtl === undefined || defaultTtl === current.policy.defaultTtl) return change
      return { ...change, policy: changeDefault(current.policy, defaultTtl, sure) }
    })
  }

  /** Returns false if it does not exist any more. */
  async changeThroughput(owner: DatabaseRecord | ContainerRecord, throughput: Throughput): Promise<boolean> {
    const splitsOf = (current: ContainerRecord) => this.#splitsFor(current, throughput)
    if ('database' in owner) {
      const split = (current: ContainerRecord) => ({ throughput, partitionSplits: splitsOf(current) })
      return (await this.#store.updateContainer(owner, split)) !== undefined
    }
    const changed = await this.#store.updateDatabase(owner, () => ({ throughput }))
    if (changed === undefined) return false
    for (const container of await this.#store.containers(changed)) {
      const isSplit = container.throughput === null && splitsOf(container) > container.partitionSplits
      if (isSplit) await this.#store.updateContainer(container, current => ({ partitionSplits: splitsOf(current) }))
    }
    return true
  }

  /**
   * Partitions are split when all together can no longer serve the throughput. They are never merged, so they
   * stay when the throughput is lowered.
   */
  #splitsFor({ partitionKey, partitionCount, partitionSplits }: ContainerRecord, throughput: Throughput): number {
    if (this.#partitions !== undefined || partitionKey.kind === 'Range') return partitionSplits
    const needed = Math.min(partitionsMax, Math.ceil(ruPerSecond(throughput)! / partitionRuMax))
    return Math.max(partitionSplits, needed - partitionCount)
  }

  /** Returns false if it did not exist any more. */
  deleteContainer(container: ContainerRecord, epitaph?: Epitaph): Promise<boolean> {
    return this.#store.deleteContainer(container, epitaph)
  }

  /** Deletes every database, including Mayfly's own. */
  async reset(): Promise<void> {
    for (const database of await this.#store.databases()) await this.#store.deleteDatabase(database)
  }
}

/** How many partitions a new container gets. `isOwn`: the throughput is not shared with others. */
function partitionsFor(throughput: Throughput | null, isOwn: boolean): number {
  const eachRu = isOwn && throughput?.kind === 'manual' ? newPartitionRuMax : partitionRuMax
  return Math.min(partitionsMax, Math.max(1, Math.ceil((ruPerSecond(throughput) ?? 0) / eachRu)))
}
