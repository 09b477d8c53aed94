/** How a wanted index stands to one that is there: the same, another, or in its way. */

import { equalValues } from '../../document/bson/compare.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { IndexSpec } from './index-spec.ts'

/**
 * `same`: there is nothing to do. `expiry`: only when documents expire is different, which may be changed.
 */
export function compareSpecs(present: IndexSpec, wanted: IndexSpec): 'unrelated' | 'same' | 'expiry' {
  const isSameKey = isSameDocument(present.key, wanted.key)
  const isSameName = present.name === wanted.name
  if (!isSameKey && !isSameName) return 'unrelated'
  if (!isSameKey) {
    throw new CommandError(
      'IndexKeySpecsConflict',
      `An existing index has the same name as the requested index. When index names are not specified, they are auto generated and can cause conflicts. Please refer to our documentation. Requested index: ${wanted.name}`,
    )
  }
  const isSameFilter = isSameOptional(present.partialFilter, wanted.partialFilter)
  if (!isSameName) {
    // One key may be indexed several times, for different parts of the collection.
    if (!isSameFilter || present.isSparse !== wanted.isSparse || present.isUnique !== wanted.isUnique)
      return 'unrelated'
    throw new CommandError('IndexOptionsConflict', `Index already exists with a different name: ${present.name}`)
  }
  const isSameElse = isSameFilter && present.isUnique === wanted.isUnique && present.isSparse === wanted.isSparse
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

/** Whether an index is what is wanted, but perhaps for when documents expire. */
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
