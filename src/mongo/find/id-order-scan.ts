/**
 * Documents of a partition lie in the order of their `_id`. What is sorted by it, or bounded by it, is read
 * off from where it begins to where it ends, in either direction.
 *
 * Of very long values only the beginning decides where a document lies. Who meets one must sort.
 */

import { bytesOf } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { int32At } from '../../document/bson/view.ts'
import { termsOf } from '../../mql/demands.ts'
import type { Filter } from '../../mql/filter/filter.ts'
import type { FindQuery } from '../../mql/program.ts'
import { chooseIndex } from '../../query/choose-index.ts'
import type { Demands } from '../../query/demands.ts'
import type { PagePosition } from '../../query/execute.ts'
import type { ScanRange } from '../../store/reading.ts'
import type { Collection } from '../collections/collections.ts'
import { itemId, mongoIdKeyBytesMax } from '../collections/document-key.ts'
import { partitionWithin } from './partition-of-filter.ts'

export interface KeyOrder {
  readonly range: ScanRange
  readonly position: PagePosition
  /** The filter says where to begin, or where to end. */
  readonly isBounded: boolean
  /** Whether a document, and all behind it, lies behind what the filter can let through. */
  readonly isBehind: ((document: Uint8Array) => boolean) | undefined
}

/** undefined where another order is wanted, or an index serves better. */
export function keyOrder(
  collection: Collection,
  { matcher, sort }: Pick<FindQuery, 'matcher' | 'sort'>,
  demands: Demands,
): KeyOrder | undefined {
  const { filter, order } = matcher
  // Nothing decides behind an `_id`, which no two documents share.
  const first = sort?.components[0]
  if (order !== undefined || (sort !== undefined && first?.path !== '_id')) return undefined
  const { above, below } = idBounds(filter)
  const isBounded = above !== undefined || below !== undefined
  const partition = sort !== undefined || isBounded ? partitionWithin(collection, filter) : undefined
  if (partition === undefined || chooseIndex(collection.container.indexes, demands) !== undefined) return undefined
  const { epk, pk } = partition
  const isReverse = first?.isDescending === true
  const [after, end] = isReverse ? [below, above] : [above, below]
  return {
    range: { min: epk, maxExclusive: `${epk}FF`, pk, isReverse },
    position: { passed: 0, ...(after !== undefined && { after: [epk, pk, after] }) },
    isBounded,
    isBehind:
      end === undefined ? undefined : document => (isReverse ? storedId(document) <= end : storedId(document) >= end),
  }
}

/**
 * Texts between which the ids of the items lie that a filter can let through, as far as it says what `_id` is
 * between.
 */
function idBounds(filter: Filter): { readonly above: string | undefined; readonly below: string | undefined } {
  const above: string[] = []
  const below: string[] = []
  for (const term of termsOf(filter)) {
    if (term.kind !== 'field' || term.path !== '_id' || term.condition.kind !== 'compare') continue
    const { operator, value } = term.condition
    const { bytes, start } = bytesOf(value)
    const id = itemId(bytes, value.type, start)
    if (id.length > orderedIdLength) continue
    if (operator === 'gt') above.push(id)
    if (operator === 'gte') above.push(id.slice(0, -1))
    if (operator === 'lt') below.push(id)
    // Ids are hexadecimal.
    if (operator === 'lte') below.push(`${id}~`)
  }
  return { above: above.sort().at(-1), below: below.sort().at(0) }
}

/**
 * Ids up to this length are in the order of their values among all others; longer ones may have a digest in
 * it.
 */
const orderedIdLength = 2 * (mongoIdKeyBytesMax - 32)

/** No value of this size has a key that long. */
const surelyOrderedBytes = 64

const typesOfAnySize: ReadonlySet<number> = new Set([
  ...[bsonType.string, bsonType.symbol, bsonType.code, bsonType.codeWithScope],
  ...[bsonType.document, bsonType.binary],
])

/** Whether the place of a stored document need not be that of its `_id`. */
export function isOutOfOrder(document: Uint8Array): boolean {
  const type = document[4]!
  if (!typesOfAnySize.has(type) || int32At(document, 9) <= surelyOrderedBytes) return false
  return storedId(document).length > orderedIdLength
}

/** Stored documents begin with their `_id`. */
export function storedId(document: Uint8Array): string {
  return itemId(document, document[4]!, 9)
}
