/** Functions that test the type of a value. For undefined they return false. */

import { typeOf } from '../values/compare.ts'
import { isPrimitive, type SqlValue } from '../values/value.ts'
import { parseDateTime } from './date-time-value.ts'
import { type BuiltIn, define, type FunctionFamily } from './define.ts'

/** From this magnitude on, a number is not a 64-bit integer. */
const int64Magnitude = 2 ** 63

function isInt64(value: SqlValue | bigint): boolean {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value) === value
  return typeof value === 'number' && Number.isInteger(value) && value >= -int64Magnitude && value < int64Magnitude
}

function is(holds: (value: SqlValue) => boolean): BuiltIn {
  return define(1, 1, ([value]) => holds(value))
}

export const typeFunctions: FunctionFamily = {
  'IS_ARRAY ISARRAY': is(value => typeOf(value) === 'array'),
  'IS_BOOL IS_BOOLEAN ISBOOL ISBOOLEAN': is(value => typeof value === 'boolean'),
  'IS_DATETIME ISDATETIME': is(value => typeof value === 'string' && parseDateTime(value) !== undefined),
  'IS_DEFINED ISDEFINED': is(value => value !== undefined),
  'IS_FINITE_NUMBER ISFINITENUMBER': is(value => typeof value === 'number' && Number.isFinite(value)),
  'IS_INTEGER ISINTEGER': { ...is(isInt64), takesInt64: true },
  'IS_NULL ISNULL': is(value => value === null),
  'IS_NUMBER ISNUMBER': is(value => typeof value === 'number'),
  'IS_OBJECT ISOBJECT': is(value => typeOf(value) === 'object'),
  'IS_PRIMITIVE ISPRIMITIVE': is(isPrimitive),
  'IS_STRING ISSTRING': is(value => typeof value === 'string'),
}
