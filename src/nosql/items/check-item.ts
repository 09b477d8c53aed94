/** Says what is wrong with a stored item: where its row and its body do not agree. */

import { extractPartitionKey, parsePartitionKeyPath } from '../../document/partition-key.ts'
import { itemKey } from '../../engine/item-key.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ScannedItem } from '../../store/item.ts'
import { isTtl, ownDeadline } from '../../ttl/lifespan.ts'

export function wrongWithItem(
  container: ContainerRecord,
  { key, ts, deadline, body }: ScannedItem,
): string | undefined {
  let item: Record<string, unknown>
  try {
    item = JSON.parse(body as string)
  } catch {
    return 'has a body that is not JSON.'
  }
  if (item.id !== key.id) return `has the id ${JSON.stringify(item.id)} in its body.`
  if (item._ts !== ts) return `was written at ${ts}, but its body says ${JSON.stringify(item._ts)}.`
  const due = ownDeadline(isTtl(item.ttl) ? item.ttl : undefined, ts)
  if (due !== deadline) return `has the deadline ${deadline}; by its ttl it would be ${due}.`
  if (container.partitionKey.systemKey === true) return undefined
  const components = extractPartitionKey(item, container.partitionKey.paths.map(parsePartitionKeyPath))
  const expected = itemKey(container, components, key.id)
  return expected.pk === key.pk && expected.epk === key.epk ? undefined : `belongs to ${expected.pk} by its body.`
}
