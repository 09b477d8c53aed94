/** Compares a requested index with an existing one: the same, unrelated, or in conflict. */

import { equalValues } from '../../document/bson/compare.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { IndexSpec } from './index-spec.ts'

/** `same`: nothing to do. `expiry`: only the time of expiry differs, and that may be changed. */
export function compareSpecs(present: IndexSpec, wanted: IndexSpec): 'unrelated' | 'same' | 'expiry' {
  const isSameKey = isSameDocument(present.key, wanted.key)
  const isSameName = present.name === wanted.name
  if (!isSameKey && !isSameName) return 'unrelated'
  if (!isSameKey) {
    throw new CommandError(
      'IndexKeySpecsConflict',
      'An existing index has the same name as the requested index. When index names are not specified, they are ' +
        'auto generated and can cause conflicts. Please refer to our documentation. Requested index: ' +
        `${wanted.name}`,
    )
  }
  const isSameFilter = isSameOptional(present.partialFilter, wanted.partialFilter)
  const isSameCollation = present.collation?.name === wanted.collation?.name
  if (!isSameName) {
    // One key may be indexed several times with different filters, collations and options.
    const isSameUse = isSameFilter && isSameCollation && present.isSparse === wanted.isSparse
    if (!isSameUse || present.isUnique !== wanted.isUnique) return 'unrelated'
    throw new CommandError('IndexOptionsConflict', `Index already exists with a different name: ${present.name}`)
  }
  const isSameElse =
    isSameFilter && isSameCollation && present.isUnique === wanted.isUnique && present.isSparse === wanted.isSparse
  if (!isSameElse) {
    throw new CommandError(
      'IndexKeySpecsConflict',
      `An existing index has the same name as the requested index, with other options. Requested index: ${wanted.name}`,
    )
  }
  if (present.expireAfterSeconds === wanted.expireAfterSeconds) return 'same'
  if (present.expireAfterSeconds !== undefined && wanted.expireAfterSeconds !== undefined) return 'expiry'
  throw new CommandError(
    'IndexOptionsConflict',
    `An equivalent index already exists with the same name but different options. Requested index: ${wanted.name}`,
  )
}

/** Whether an existing index is the requested one, apart from its time of expiry. */
export function isWanted(present: IndexSpec, wanted: IndexSpec): boolean {
  try {
    return compareSpecs(present, wanted) !== 'unrelated'
  } catch (error) {
    if (error instanceof CommandError) return false
    throw error
  }
}

function isSameOptional(left: BsonDocument | undefined, right: BsonDocument | undefined): boolean {
  return left === undefined || right === undefined ? left === right : isSameDocument(left, right)
}

function isSameDocument(left: BsonDocument, right: BsonDocument): boolean {
  return equalValues(left, right)
}
