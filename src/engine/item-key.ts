/** The key of an item from its partition key and id, as its container hashes it. */

import { effectivePartitionKey } from '../document/effective-partition-key.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../document/partition-key.ts'
import type { ContainerRecord, ItemKey } from '../storage/port.ts'

export function itemKey(container: ContainerRecord, components: readonly PartitionKeyComponent[], id: string): ItemKey {
  return {
    epk: effectivePartitionKey(container.partitionKey, components),
    pk: canonicalPartitionKey(components),
    id,
  }
}
