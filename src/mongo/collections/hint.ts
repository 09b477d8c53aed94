/**
 * Hints: a client says what must be read, an index or the collection itself.
 *
 * A hint is always followed: documents come in the order of the index's keys, and those that have no entry
 * in a sparse or partial index do not come.
 */

import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, int32, type Value } from '../../document/bson/value.ts'
import type { Matcher } from '../../mql/filter/match.ts'
import { compileSort, type Sort } from '../../mql/paths/sort-order.ts'
import type { IndexHint } from '../../query/demands.ts'
import { CommandError } from '../answers/command-error.ts'
import { type Arguments, numberOf } from '../requests/arguments.ts'
import type { Collection, CollectionIndex } from './collections.ts'

/** A hint, as the arguments have it. An empty document is none. */
function givenHint(args: Arguments): Value | undefined {
  const hint = args.present('hint')
  if (hint === undefined || (hint.type === bsonType.document && hint.isEmpty)) return undefined
  if (hint.type !== bsonType.string && hint.type !== bsonType.document) {
    throw new CommandError('FailedToParse', 'Hint must be a string or an object')
  }
  return hint
}

/** The direction of `{ $natural: 1 }`; undefined for other hints. */
function naturalDirection(hint: Value): number | undefined {
  const natural = hint.type === bsonType.document ? hint.get('$natural') : undefined
  if (natural === undefined) return undefined
  const direction = numberOf(natural)
  if (direction === 1 || direction === -1) return direction
  throw new CommandError('BadValue', '$natural hint cannot be set to a value other than -1 or 1.')
}

/** Whether documents are wanted in the opposite of their natural order. */
export function isReversed(args: Arguments): boolean {
  const hint = givenHint(args)
  return hint !== undefined && naturalDirection(hint) === -1
}

function hintedIndex(hint: Value, { indexes }: Collection): CollectionIndex {
  const found = indexes.find(
    ({ name, key, isHidden }) =>
      !isHidden && (hint.type === bsonType.string ? name === hint.value : equalValues(key, hint)),
  )
  if (found !== undefined) return found
  throw new CommandError(
    'BadValue',
    'error processing query: planner returned error: hint provided does not correspond to an existing index',
  )
}

/** Undefined leaves the choice to the planner. */
function hintOf(args: Arguments, collection: Collection): IndexHint | undefined {
  const hint = givenHint(args)
  if (hint === undefined) return undefined
  if (naturalDirection(hint) !== undefined) return 'none'
  const { kind, number, parts, name } = hintedIndex(hint, collection)
  // Documents are kept in the order of their `_id`.
  if (name === '_id_') return 'ids'
  if (kind !== 'ordered' || number === undefined) return undefined
  const stored = collection.container.indexes.find(({ definition }) => definition.number === number)
  const [component] = stored?.definition.components ?? []
  return { index: number, isReverse: component?.isDescending !== parts[0]!.isDescending }
}

const backwards = compileSort(BsonDocument.of([['_id', int32(-1)]]))

/** A query with the hint of a command or statement. */
export function withHint<Query extends { readonly matcher: Matcher; readonly sort?: Sort | undefined }>(
  args: Arguments,
  collection: Collection | undefined,
  query: Query,
): Query {
  if (!args.has('hint')) return query
  if (collection === undefined) {
    givenHint(args)
    return query
  }
  const hint = hintOf(args, collection)
  if (hint === undefined) return query
  const sort = query.sort ?? (isReversed(args) ? backwards : undefined)
  return { ...query, matcher: { ...query.matcher, hint }, sort }
}
