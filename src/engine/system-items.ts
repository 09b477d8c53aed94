/**
 * Data that Mayfly stores for an API beside users' items: scripts, users, sessions, watched collections.
 *
 * They are items in containers that no API can name, in a database of Mayfly's own. Their partition key is
 * their owner. They are not charged.
 */

import { newResourceNumber } from '../base/identifier.ts'
import { pageBytesMax, pageItemsMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { effectivePartitionKeyPrefixRange } from '../document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../document/partition-key.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, StoredItem } from '../store/item.ts'
import type { Store } from '../store/port.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../store/writing.ts'
import { newPolicy } from '../ttl/lifespan.ts'

/** A name that is valid in neither API. */
export const systemDatabase = 'mayfly/system'

export class SystemItems {
  readonly #store: Store

  constructor(store: Store) {
    this.#store = store
  }

  /** Whether any container exists yet. Does not create one. */
  async hasContainers(): Promise<boolean> {
    return (await this.#store.findDatabase(systemDatabase)) !== undefined
  }

  findContainer(id: string): MaybePromise<ContainerRecord | undefined> {
    return this.#store.findContainer(systemDatabase, id)
  }

  /** The container of this name, created on first use. */
  container(id: string, defaultTtl: number | null): MaybePromise<ContainerRecord> {
    return andThen(this.findContainer(id), found => found ?? this.#create(id, defaultTtl))
  }

  async #create(id: string, defaultTtl: number | null): Promise<ContainerRecord> {
    await this.#store.createDatabase({ id: systemDatabase, throughput: null, rid: newResourceNumber() })
    const database = await this.#store.findDatabase(systemDatabase)
    const made = await this.#store.createContainer(database!, {
      id,
      partitionKey: { paths: ['/owner'], kind: 'Hash', version: 2 },
      definition: {},
      throughput: null,
      rid: newResourceNumber(),
      partitionCount: 1,
      encoding: 'json',
      policy: newPolicy(defaultTtl),
      logSeconds: null,
    })
    return made ?? (await this.#store.findContainer(systemDatabase, id))!
  }

  find(container: ContainerRecord, key: ItemKey): MaybePromise<StoredItem | undefined> {
    return andThen(this.#store.read(container, key), ({ item }) => item)
  }

  /** All items of the owner. */
  async list(container: ContainerRecord, owner: string): Promise<StoredItem[]> {
    const range = {
      ...effectivePartitionKeyPrefixRange(container.partitionKey, [owner]),
      pk: canonicalPartitionKey([owner]),
    }
    const size = { itemsMax: pageItemsMax, bytesMax: pageBytesMax }
    const found: StoredItem[] = []
    let after: ItemKey | undefined
    do {
      const page = await this.#store.scan(container, { ...range, after }, size)
      found.push(...page.items)
      after = page.last
    } while (after !== undefined)
    return found
  }

  write(container: ContainerRecord, write: ItemWrite): Promise<WriteAnswer> {
    return this.#store.write(container, write)
  }

  /** All steps or none. */
  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    return this.#store.transact(steps)
  }
}
