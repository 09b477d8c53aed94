/**
 * Sort orders. The values of a document at the paths make one or more keys, and the document sorts by the
 * first of these keys. So of an array the lowest element counts when ascending, and the highest when
 * descending. An empty array sorts below null, and a missing value counts as null.
 */

import { pathParts } from '../../document/bson/dotted-path.ts'
import { keyTuples, ParallelArrays } from '../../document/bson/key-tuples.ts'
import { isNumeric, toDouble } from '../../document/bson/number.ts'
import { encodeFullKey } from '../../document/bson/ordered-key.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { badValue, MongoError } from '../errors/mongo-error.ts'
import { printElement } from '../errors/print.ts'

export interface SortComponent {
  readonly path: string
  readonly isDescending: boolean
}

export interface Sort {
  readonly components: readonly SortComponent[]
  /** Set by `$natural: -1`: the natural order, reversed. */
  readonly isReversed: boolean
  /** Sort key: bytes that compare like the documents. Equal documents in this order have equal keys. */
  keyOf(document: Uint8Array): Uint8Array
}

export function compileSort(spec: BsonDocument, collation?: Collation | undefined): Sort {
  const natural = spec.get('$natural')
  if (natural !== undefined) {
    const direction = isNumeric(natural) ? toDouble(natural) : 0
    if (spec.fields.length !== 1 || Math.abs(direction) !== 1)
      throw badValue('$natural sort cannot be set to a value other than -1 or 1.')
    return { components: [], isReversed: direction < 0, keyOf: () => new Uint8Array() }
  }
  const components = spec.fields.map(([path, value]) => {
    if (!isNumeric(value))
      throw new MongoError(15974, `Illegal key in $sort specification: ${printElement(path, value)}`)
    const direction = toDouble(value)
    if (direction !== 1 && direction !== -1) {
      throw new MongoError(15975, '$sort key ordering must be 1 (for ascending) or -1 (for descending)')
    }
    refusePath(path)
    return { path, isDescending: direction < 0 }
  })
  const paths = components.map(({ path }) => pathParts(path.split('.')))
  const options = { includesArrays: false, tuplesMax: Number.POSITIVE_INFINITY }
  const keyOf = (bytes: Uint8Array): Uint8Array => {
    let least: Uint8Array | undefined
    for (const tuple of tuplesOf(() => keyTuples(bytes, paths, options))) {
      const key = encodeFullKey(
        tuple.map(({ type, start }, index) => ({ bytes, type, start, isDescending: components[index]!.isDescending })),
        collation,
      )
      if (least === undefined || Buffer.compare(key, least) < 0) least = key
    }
    return least!
  }
  return { components, isReversed: false, keyOf }
}

function tuplesOf<T>(make: () => T): T {
  try {
    return make()
  } catch (error) {
    if (error instanceof ParallelArrays) throw badValue('cannot sort with keys that are parallel arrays')
    throw error
  }
}

/** Throws if a path of a sort or projection is not valid. */
export function refusePath(path: string): void {
  if (path === '') throw new MongoError(40352, 'FieldPath cannot be constructed with empty string')
  if (path.endsWith('.')) throw new MongoError(40353, "FieldPath must not end with a '.'.")
  for (const part of path.split('.')) {
    if (part === '') throw new MongoError(15998, 'FieldPath field names may not be empty strings.')
    if (part.startsWith('$')) {
      throw new MongoError(
        16410,
        "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
      )
    }
  }
}
