/** `$bitsAllSet` and the other bit operators. Integers are sign-extended; binary data is zero-padded. */

import { exactInteger } from '../../document/bson/number.ts'
import { bsonType, isNumberType } from '../../document/bson/types.ts'
import { type NumericValue, valueAt } from '../../document/bson/value.ts'
import { int32At } from '../../document/bson/view.ts'
import type { ElementTest } from '../paths/stored-path.ts'
import type { Condition } from './filter.ts'

export function bitsTest({ positions, isAny, isSet }: Extract<Condition, { kind: 'bits' }>): ElementTest {
  const mask = positions.reduce((bits, position) => bits | (1n << BigInt(Math.min(position, 63))), 0n)
  const holds = (bits: bigint) => {
    const found = (isSet ? bits : ~bits) & mask
    return isAny ? found !== 0n : found === mask
  }
  return (bytes, type, start) => {
    if (isNumberType(type)) {
      const integer = exactInteger(valueAt(bytes, type, start) as NumericValue)
      return integer !== undefined && holds(integer)
    }
    if (type !== bsonType.binary) return false
    const length = int32At(bytes, start)
    const isWanted = (position: number) => {
      const byte = position >= 8 * length ? 0 : bytes[start + 5 + (position >> 3)]!
      return ((byte >> (position & 7)) & 1) === (isSet ? 1 : 0)
    }
    return isAny ? positions.some(isWanted) : positions.every(isWanted)
  }
}
