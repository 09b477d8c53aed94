/** Hints: the index that a client asks for. It must exist; the planner decides whether to use it. */

import { equalValues } from '../../document/bson/compare.ts'
import { bsonType } from '../../document/bson/types.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'
import type { Collection } from './collections.ts'

export function checkHint(args: Arguments, collection: Collection | undefined): void {
  const hint = args.present('hint')
  if (hint === undefined) return
  if (hint.type !== bsonType.string && hint.type !== bsonType.document) {
    throw new CommandError('FailedToParse', 'Hint must be a string or an object')
  }
  const isNone = hint.type === bsonType.document && (hint.isEmpty || hint.get('$natural') !== undefined)
  if (collection === undefined || isNone) return
  const isThere = collection.indexes.some(({ name, key }) =>
    hint.type === bsonType.string ? name === hint.value : equalValues(key, hint),
  )
  if (!isThere) {
    throw new CommandError(
      'BadValue',
      'error processing query: planner returned error: hint provided does not correspond to an existing index',
    )
  }
}
