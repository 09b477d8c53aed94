/** The key of an item from its partition key and id, as its container hashes it. */

import { RequestError } from '../base/error.ts'
import { effectivePartitionKey } from '../document/effective-partition-key.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../document/partition-key.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey } from '../store/item.ts'

/** Of somebody who names an item freely: the whole partition key must be there. */
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
