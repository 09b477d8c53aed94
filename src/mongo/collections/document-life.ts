/**
 * How long a document lives, as its own fields say.
 *
 *   `ttl` at its root    counts once the collection has a TTL index on `_ts`: int32, an int64 that fits, or a
 *                        double without fraction that fits. -1 means for ever. Anything else is data.
 *   dates in its fields  end its life where TTL indexes name them, as in MongoDB. The earliest date counts,
 *                        also inside an array. Values that are no dates do not count.
 *
 * A collection follows one of the two rules, so that what is stored with its items means one thing.
 */

import { type EpochSeconds, toEpochSeconds } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { doubleAt, findElement, int32At, int64At } from '../../document/bson/view.ts'
import { compileFilter, type Matcher } from '../../mql/filter/match.ts'
import { isTtl } from '../../ttl/lifespan.ts'
import type { Collection, CollectionIndex } from './collections.ts'

export interface Life {
  readonly ttl: number | undefined
  readonly until?: EpochSeconds | undefined
}

const inherited: Life = { ttl: undefined }

const ttlName = Buffer.from('ttl')

export function lifeOf(
  { definition, dateRules }: Collection,
  document: Uint8Array,
  { isDocumentTtlOn }: { readonly isDocumentTtlOn: boolean },
): Life {
  if (definition.deadlines === 'dates') {
    const until = earliestEnd(dateRules, document)
    return until === undefined ? inherited : { ttl: undefined, until }
  }
  if (!isDocumentTtlOn) return inherited
  const at = findElement(document, 0, ttlName)
  if (at === -1) return inherited
  const ttl = ttlAt(document, document[at]!, at + ttlName.length + 2)
  return ttl === undefined ? inherited : { ttl }
}

/** The `ttl` of a document in seconds, or undefined if the value is not a valid one. */
function ttlAt(bytes: Uint8Array, type: number, start: number): number | undefined {
  const value = rawNumber(bytes, type, start)
  return isTtl(value) ? value : undefined
}

function rawNumber(bytes: Uint8Array, type: number, start: number): number {
  switch (type) {
    case bsonType.int32:
      return int32At(bytes, start)
    case bsonType.int64:
      return Number(int64At(bytes, start))
    case bsonType.double:
      return doubleAt(bytes, start)
    default:
      return Number.NaN
  }
}

const filters = new WeakMap<CollectionIndex, Matcher>()

function earliestEnd(rules: readonly CollectionIndex[], bytes: Uint8Array): EpochSeconds | undefined {
  let earliest: bigint | undefined
  for (const rule of rules) {
    if (!isCovered(rule, bytes)) continue
    const date = earliestDate(BsonDocument.view(bytes), rule.parts[0]!.path.split('.'), 0)
    if (date === undefined) continue
    const end = date + BigInt(rule.expireAfterSeconds!) * 1000n
    if (earliest === undefined || end < earliest) earliest = end
  }
  if (earliest === undefined) return undefined
  // Item time has whole seconds, so round up: the document is dead from the first second at or after its
  // end.
  const seconds = earliest <= 0n ? 0n : (earliest + 999n) / 1000n
  return toEpochSeconds(Number(seconds < furthestSecond ? seconds : furthestSecond))
}

const furthestSecond = BigInt(Number.MAX_SAFE_INTEGER - 1)

function isCovered(rule: CollectionIndex, document: Uint8Array): boolean {
  if (rule.partialFilter === undefined) return true
  let matcher = filters.get(rule)
  if (matcher === undefined) {
    matcher = compileFilter(rule.partialFilter, { collation: rule.collation })
    filters.set(rule, matcher)
  }
  return matcher.matches(document)
}

/** The path may lead through arrays of documents. At its end is a date or an array of dates. */
function earliestDate(value: Value | undefined, path: readonly string[], at: number): bigint | undefined {
  if (value === undefined) return undefined
  if (at === path.length) {
    if (value.type === bsonType.date) return value.value
    if (value.type !== bsonType.array) return undefined
    return least(value.elements.map(element => (element.type === bsonType.date ? element.value : undefined)))
  }
  if (value.type === bsonType.document) return earliestDate(value.get(path[at]!), path, at + 1)
  if (value.type !== bsonType.array) return undefined
  const within = value.elements.map(element =>
    element.type === bsonType.document ? earliestDate(element.get(path[at]!), path, at + 1) : undefined,
  )
  const index = /^(0|[1-9]\d{0,9})$/.test(path[at]!)
    ? earliestDate(value.elements[Number(path[at])], path, at + 1)
    : undefined
  return least([...within, index])
}

function least(dates: readonly (bigint | undefined)[]): bigint | undefined {
  let found: bigint | undefined
  for (const date of dates) if (date !== undefined && (found === undefined || date < found)) found = date
  return found
}
