/** The paths of updates: `a.b`, `list.0.x`, `list.$.x`, `list.$[].x`, `list.$[name].x`. */

import { compareValues } from '../../document/bson/compare.ts'
import { string } from '../../document/bson/value.ts'
import { bsonWriteDepthMax } from '../../document/bson/writer.ts'
import { MongoError } from '../errors/mongo-error.ts'

/** Splits the path of an update into its parts, or throws when it is not valid. */
export function updatePathParts(path: string): readonly string[] {
  if (path === '') throw new MongoError(56, 'An empty update path is not valid.')
  const parts = path.split('.')
  if (parts.includes('')) {
    throw new MongoError(56, `The update path '${path}' contains an empty field name, which is not allowed.`)
  }
  // Documents do not nest deeper, and every walk along a path recurses.
  if (parts.length > bsonWriteDepthMax) {
    throw new MongoError(15, `The update path has more than ${bsonWriteDepthMax} parts.`)
  }
  const first = parts.indexOf('$')
  if (first !== -1 && parts.includes('$', first + 1)) {
    throw new MongoError(2, `Too many positional (i.e. '$') elements found in path '${path}'`)
  }
  if (first === 0) {
    throw new MongoError(2, `Cannot have positional (i.e. '$') element in the first position in path '${path}'`)
  }
  if (filterIdentifier(parts[0]!) !== undefined) {
    throw new MongoError(
      2,
      `Cannot have array filter identifier (i.e. '$[<id>]') element in the first position in path '${path}'`,
    )
  }
  return parts
}

/** The name in `$[name]`; empty for `$[]`. */
export function filterIdentifier(part: string): string | undefined {
  return part.length >= 3 && part.startsWith('$[') && part.endsWith(']') ? part.slice(2, -1) : undefined
}

export function isDynamic(part: string): boolean {
  return part === '$' || filterIdentifier(part) !== undefined
}

const indexMax = 2 ** 32 - 1

/** The array index that a part of a path means, or -1. */
export function arrayIndex(part: string): number {
  if (!/^\d+$/.test(part)) return -1
  const index = Number(part)
  return index <= indexMax ? index : -1
}

/** Compares by bytes, but numbers by value: new fields sort alphabetically, new array elements by index. */
export function comparePathParts(left: string, right: string): number {
  if (isPlainNumber(left) && isPlainNumber(right) && left.length !== right.length) return left.length - right.length
  return compareValues(string(left), string(right))
}

/** Begins with a digit, and not with a leading zero. MongoDB checks no more. */
function isPlainNumber(part: string): boolean {
  const first = part.charAt(0)
  return first >= '0' && first <= '9' && (first !== '0' || part.length === 1)
}
