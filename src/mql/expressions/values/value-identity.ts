/** Identity texts of values for sets, groups and joins: equal values have equal texts. */

import { shortKey } from '../../../base/short-key.ts'
import { spend } from '../../../base/work.ts'
import { exactInteger, isNumeric } from '../../../document/bson/number.ts'
import { keyOfValue } from '../../../document/bson/ordered-key.ts'
import { bsonType } from '../../../document/bson/types.ts'
import type { Value } from '../../../document/bson/value.ts'
import type { Collation } from '../../../document/collation/collation.ts'

/** The identity text of a value. Strings and integers, the common cases, need no sort key. */
export function valueIdentity(value: Value, collation?: Collation | undefined): string {
  spend(4)
  if (value.type === bsonType.string || value.type === bsonType.symbol) {
    return shortKey(`s${collation === undefined ? value.value : collation.keyOf(value.value)}`)
  }
  if (value.type === bsonType.int32) return `i${value.value}`
  const whole = isNumeric(value) ? exactInteger(value) : undefined
  if (whole !== undefined) return `i${whole}`
  const key = keyOfValue(value, collation)
  return shortKey(`k${Buffer.from(key.buffer, key.byteOffset, key.length).toString('latin1')}`)
}
