/** `distinct`: the distinct values at a path. An array counts by its elements. */

import { MiB } from '../base/limits.ts'
import { keyOfValue } from '../document/bson/ordered-key.ts'
import { bsonType } from '../document/bson/types.ts'
import { type Value, valueAt } from '../document/bson/value.ts'
import { ElementCursor } from '../document/bson/view.ts'
import type { Collation } from '../document/collation/collation.ts'
import { keptValue } from './accumulators/kept-value.ts'
import { MongoError } from './errors/mongo-error.ts'
import { documentTest, pathTest } from './paths/stored-path.ts'

/** All values of a `distinct` are returned in one document. */
const distinctBytesMax = 16 * MiB

export class DistinctValues {
  readonly #valuesOf: (document: Uint8Array) => Value[]
  readonly #found = new Map<string, Value>()
  readonly #collation: Collation | undefined
  #bytes = 0

  constructor(path: string, collation: Collation | undefined) {
    this.#valuesOf = valuesAt(path)
    this.#collation = collation
  }

  add(document: Uint8Array): void {
    for (const value of this.#valuesOf(document)) {
      const key = Buffer.from(keyOfValue(value, this.#collation)).toString('latin1')
      if (this.#found.has(key)) continue
      this.#found.set(key, keptValue(value).value)
      this.#bytes += key.length
      if (this.#bytes > distinctBytesMax) throw new MongoError(17217, 'distinct too big, 16mb cap')
    }
  }

  /** In sort order. */
  values(): Value[] {
    return [...this.#found.entries()].sort(([a], [b]) => (a < b ? -1 : 1)).map(([, value]) => value)
  }
}

function valuesAt(path: string): (document: Uint8Array) => Value[] {
  let found: Value[] = []
  const look = (bytes: Uint8Array, type: number, start: number): boolean => {
    if (type === bsonType.array) {
      const cursor = new ElementCursor(bytes, start)
      while (cursor.next()) found.push(valueAt(bytes, cursor.type, cursor.valueStart))
    } else if (type !== 0) {
      found.push(valueAt(bytes, type, start))
    }
    // Returns false, so that every value is visited.
    return false
  }
  const visit = documentTest(pathTest(path, look, { entersLastArray: false }))
  return document => {
    found = []
    visit(document, 0, undefined)
    return found
  }
}
