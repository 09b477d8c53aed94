/** Compares array elements by their fields, for `$sortArray`. A path enters an array only by an index. */

import { compareValues } from '../../../document/bson/compare.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { type BsonDocument, nullValue, type Value } from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'
import { int32Of, refuse } from '../core/define-operator.ts'

export interface PatternPart {
  readonly names: readonly string[]
  readonly direction: number
}

export function sortPatternOf(spec: BsonDocument, { code }: { readonly code: number }): readonly PatternPart[] {
  if (spec.isEmpty) refuse(code, 'BadValue: The sort pattern is empty when it should be a set of fields.')
  return spec.fields.map(([path, order]) => {
    const direction = int32Of(order)
    if (direction !== 1 && direction !== -1) {
      return refuse(code, 'BadValue: The sort element value must be either 1 or -1')
    }
    if (path === '') refuse(code, 'BadValue: The sort field cannot be empty')
    const names = path.split('.')
    if (names.includes('')) refuse(code, `BadValue: The sort field is a dotted field but has an empty part: ${path}`)
    return { names, direction }
  })
}

/** The value at a path. A missing value, or an element that is no document, counts as null. */
function keyOf(value: Value, names: readonly string[]): Value {
  let inner: Value | undefined = value
  for (const name of names) {
    if (inner?.type === bsonType.document) inner = inner.get(name)
    else if (inner?.type === bsonType.array && inner !== value && /^\d+$/.test(name))
      inner = inner.elements[Number(name)]
    else return nullValue
  }
  return inner ?? nullValue
}

export function compareByPattern(
  pattern: readonly PatternPart[],
  left: Value,
  right: Value,
  collation: Collation | undefined,
): number {
  for (const { names, direction } of pattern) {
    const order = compareValues(keyOf(left, names), keyOf(right, names), collation)
    if (order !== 0) return direction * order
  }
  return 0
}
