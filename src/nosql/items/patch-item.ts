/** Applies a patch to an item that meets its condition. The result is checked like any other item. */

import { RequestError } from '../../base/error.ts'
import { itemBytesMax } from '../../base/limits.ts'
import { canonicalPartitionKey, extractPartitionKey } from '../../document/partition-key.ts'
import type { ItemKey } from '../../store/item.ts'
import { parseItemTtl } from '../../ttl/lifespan.ts'
import { type ContainerView, partitionKeyMismatch } from '../http/container-view.ts'
import { JsonTree } from '../json/json-tree.ts'
import { type ItemBody, systemProperties } from './item-body.ts'
import { applyPatch, type Patch } from './patch.ts'

export function patchItemText(
  view: ContainerView,
  key: ItemKey,
  text: string,
  patch: Patch,
  { strict }: { strict: boolean },
): Pick<ItemBody, 'text' | 'ttl'> {
  const item = new JsonTree(text)
  for (const name of systemProperties) item.delete(name)
  applyPatch(item, patch.operations)
  checkSamePartitionKey(view, key, item)
  const ttl = parseItemTtl(item.get('ttl')?.parse(), { strict })
  const patched = item.toString()
  if (Buffer.byteLength(patched) > itemBytesMax) throw new RequestError('too_large', 'Request size is too large')
  return { text: patched, ttl }
}

/** A patch must not change the partition key. Only the values at the key's paths are parsed. */
function checkSamePartitionKey({ record, keyPaths }: ContainerView, key: ItemKey, item: JsonTree): void {
  if (record.partitionKey.systemKey === true) return
  const components = keyPaths.flatMap(path => {
    const [first, ...rest] = path
    return extractPartitionKey({ value: item.get(first!)?.parse() }, [['value', ...rest]])
  })
  if (canonicalPartitionKey(components) !== key.pk) throw partitionKeyMismatch()
}
