/** The keys that one item has in the indexes of its container. */

import { createHash } from 'node:crypto'
import type { Body } from '../document/body.ts'
import type { IndexDefinition } from '../document/index-definition.ts'
import type { IndexKeys, KeyMaker } from '../document/index-keys.ts'

/**
 * Keys of an index that is unique within a partition key begin with a digest of that partition key: the same
 * values under another partition key are another key.
 */
export function itemIndexKeys(
  keysOf: KeyMaker,
  definitions: readonly IndexDefinition[],
  { pk, body }: { readonly pk: string; readonly body: Body },
): readonly IndexKeys[] {
  const made = keysOf(definitions, body)
  if (!definitions.some(isUniqueWithinPartition)) return made
  const prefix = createHash('sha256').update(pk).digest().subarray(0, 16)
  return made.map((each, at) =>
    isUniqueWithinPartition(definitions[at]!)
      ? { ...each, keys: each.keys.map(key => Buffer.concat([prefix, key])) }
      : each,
  )
}

function isUniqueWithinPartition({ uniqueness }: IndexDefinition): boolean {
  return uniqueness === 'partition'
}
