/** The key of an item, from its partition key and id. */

import { RequestError } from '../base/error.ts'
import { effectivePartitionKey } from '../document/effective-partition-key.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../document/partition-key.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'

/** For callers outside the two APIs: checks that all levels of the partition key are given. */
export function wholeItemKey(
  container: ContainerRecord,
  components: readonly PartitionKeyComponent[],
  id: string,
): ItemKey {
  const { paths } = container.partitionKey
  if (components.length !== paths.length) {
    throw new RequestError(
      'malformed',
      `The partition key of ${container.id} has ${paths.length} components: ${paths.join(', ')}.`,
    )
  }
  return itemKey(container, components, id)
}

export function itemKey(container: ContainerRecord, components: readonly PartitionKeyComponent[], id: string): ItemKey {
  return {
    epk: effectivePartitionKey(container.partitionKey, components),
    pk: canonicalPartitionKey(components),
    id,
  }
}
