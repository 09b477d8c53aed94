/**
 * Databases and containers: finding, making, changing and deleting them.
 *
 * What is not there, or cannot be made because its name is taken, is answered with undefined or false. Each
 * edge says it in its own words.
 */

import { newResourceNumber } from '../base/identifier.ts'
import { partitionsMax, throughputDefault } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerChange, ContainerDraft, ContainerRecord, DatabaseRecord, Throughput } from '../store/catalog.ts'
import type { Store } from '../store/port.ts'
import { changeDefault, newPolicy } from '../ttl/lifespan.ts'
import { ruPerSecond } from '../units/ledger.ts'
import { systemDatabase } from './system-items.ts'

/** One physical partition serves at most this much (the service's documented limit). */
const partitionThroughputMax = 10_000

const defaultThroughput: Throughput = { kind: 'manual', ruPerSecond: throughputDefault }

/** A container as an edge asks for it. */
export type NewContainer = Pick<
  ContainerDraft,
  'id' | 'partitionKey' | 'definition' | 'throughput' | 'declaredIndexes'
> &
  Partial<Pick<ContainerDraft, 'encoding' | 'logSeconds'>> & { readonly defaultTtl: number | null }

/** What is not named stays as it is. */
export type ContainerEdit = Pick<ContainerChange, 'id' | 'definition' | 'logSeconds'> & {
  readonly defaultTtl?: number | null
}

export class Catalog {
  readonly #store: Store
  readonly #partitions: number | undefined

  /** `partitions`: physical partitions of new containers; undefined: by throughput. */
  constructor(store: Store, partitions: number | undefined) {
    this.#store = store
    this.#partitions = partitions
  }

  /** All databases but the one that Mayfly keeps for itself. */
  databases(): MaybePromise<readonly DatabaseRecord[]> {
    return andThen(this.#store.databases(), all => all.filter(({ id }) => id !== systemDatabase))
  }

  findDatabase(id: string): MaybePromise<DatabaseRecord | undefined> {
    return this.#store.findDatabase(id)
  }

  /** undefined: the name is taken. */
  createDatabase(id: string, throughput: Throughput | null): Promise<DatabaseRecord | undefined> {
    return this.#store.createDatabase({ id, throughput, rid: newResourceNumber() })
  }

  /** false: it was gone already. */
  deleteDatabase(database: DatabaseRecord): Promise<boolean> {
    return this.#store.deleteDatabase(database)
  }

  /** Those of both APIs. */
  containers(database: DatabaseRecord): MaybePromise<readonly ContainerRecord[]> {
    return this.#store.containers(database)
  }

  /** Of whichever API: whose it is, its encoding tells. */
  findContainer(database: string, id: string): MaybePromise<ContainerRecord | undefined> {
    return this.#store.findContainer(database, id)
  }

  /** The containers of all databases, Mayfly's own as well. */
  async everyContainer(): Promise<ContainerRecord[]> {
    const databases = await this.#store.databases()
    return (await Promise.all(databases.map(database => this.#store.containers(database)))).flat()
  }

  /**
   * undefined: the name is taken. A container that nobody provisions shares its database's throughput, or
   * gets the service's minimum.
   */
  createContainer(database: DatabaseRecord, wanted: NewContainer): Promise<ContainerRecord | undefined> {
    const { id, partitionKey, definition, defaultTtl } = wanted
    const { encoding = 'json', logSeconds = null, declaredIndexes = [] } = wanted
    const shared = database.throughput === null ? defaultThroughput : null
    const throughput = wanted.throughput ?? shared
    return this.#store.createContainer(database, {
      id,
      partitionKey,
      definition,
      throughput,
      rid: newResourceNumber(),
      partitionCount: this.#partitions ?? partitionsFor(throughput),
      encoding,
      policy: newPolicy(defaultTtl),
      logSeconds,
      declaredIndexes,
    })
  }

  /**
   * The edit is made from the present record inside the transaction, so that two changes cannot overwrite
   * each other. undefined: the container is gone, or its new name is taken.
   */
  changeContainer(
    container: ContainerRecord,
    edit: (current: ContainerRecord) => ContainerEdit,
  ): Promise<ContainerRecord | undefined> {
    return this.#store.updateContainer(container, (current, moment): ContainerChange => {
      const { defaultTtl, ...change } = edit(current)
      if (defaultTtl === undefined || defaultTtl === current.policy.defaultTtl) return change
      return { ...change, policy: changeDefault(current.policy, defaultTtl, moment) }
    })
  }

  /** false: it is gone. */
  async changeThroughput(owner: DatabaseRecord | ContainerRecord, throughput: Throughput): Promise<boolean> {
    const changed =
      'database' in owner
        ? await this.#store.updateContainer(owner, () => ({ throughput }))
        : await this.#store.updateDatabase(owner, () => ({ throughput }))
    return changed !== undefined
  }

  /** false: it was gone already. */
  deleteContainer(container: ContainerRecord): Promise<boolean> {
    return this.#store.deleteContainer(container)
  }

  /** Deletes every database, Mayfly's own as well. */
  async reset(): Promise<void> {
    for (const database of await this.#store.databases()) await this.#store.deleteDatabase(database)
  }
}

function partitionsFor(throughput: Throughput | null): number {
  const rate = ruPerSecond(throughput) ?? 0
  return Math.min(partitionsMax, Math.max(1, Math.ceil(rate / partitionThroughputMax)))
}
