/** Random BSON values of every type, with many edge cases of comparison; the same ones in every run. */

import { finite } from '../../src/document/bson/decimal128.ts'
import { decimal128 } from '../../src/document/bson/number.ts'
import { bsonType } from '../../src/document/bson/types.ts'
import {
  BsonArray,
  BsonDocument,
  binary,
  bool,
  date,
  double,
  type Field,
  int32,
  int64,
  maxKey,
  minKey,
  nullValue,
  objectId,
  regex,
  string,
  timestamp,
  undefinedValue,
  type Value,
} from '../../src/document/bson/value.ts'

/** Numbers below a bound, from a fixed seed (mulberry32). */
export function seeded(seed: number): (bound: number) => number {
  let state = seed
  return bound => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

const texts = ['', 'a', 'b', 'ab', 'abc', '0', '1', 'a\0', 'a\0b', '\x01', '\x02', 'é', 'ÿ', '\u{1f600}', '\uffff', 'A']
const names = ['a', 'b', 'c', '0', '1', '', 'aa', 'é', '__proto__', 'x.y']
const doubles = [0, -0, 1, -1, 0.1, 0.5, 1.5, 5, 2 ** 53, 2 ** 53 + 2, -(2 ** 53), 2 ** 63, -(2 ** 63), 5e-324, -5e-324]
const doublesBeyond = [1.7976931348623157e308, -1.7976931348623157e308, Infinity, -Infinity, NaN, 2 ** 31, 1e15, 1e22]
const integers = [
  0n,
  1n,
  -1n,
  5n,
  2n ** 53n,
  2n ** 53n + 1n,
  2n ** 53n - 1n,
  2n ** 63n - 1n,
  -(2n ** 63n),
  2n ** 62n + 1n,
]
const exponents = [0, 1, -1, -2, 2, 5, -6176, 6111, -330, -324, 308, 300, -34, -17]
const coefficients = [
  0n,
  1n,
  5n,
  10n,
  50n,
  100n,
  10n ** 34n - 1n,
  10n ** 33n,
  9007199254740993n,
  17976931348623157n,
  3n,
]

export class RandomBson {
  readonly random: (bound: number) => number

  constructor(seed: number) {
    this.random = seeded(seed)
  }

  oneOf<T>(choices: readonly T[]): T {
    return choices[this.random(choices.length)]!
  }

  bytes(length: number): Uint8Array {
    return Uint8Array.from({ length }, () => this.oneOf([0, 1, 2, 127, 128, 255, this.random(256)]))
  }

  number(): Value {
    switch (this.random(5)) {
      case 0:
        return int32(this.oneOf([0, 1, -1, 5, 2147483647, -2147483648, this.random(10)]))
      case 1:
        return double(this.oneOf([...doubles, ...doublesBeyond, this.random(10), this.random(1000) / 8]))
      case 2:
        return int64(this.oneOf([...integers, BigInt(this.random(10))]))
      case 3: {
        const { random } = this
        if (random(8) === 0)
          return decimal128(random(2) === 0 ? { kind: 'nan' } : { kind: 'infinity', isNegative: random(2) === 0 })
        return decimal128(finite(random(2) === 0, this.oneOf(coefficients), this.oneOf(exponents)))
      }
      default:
        return decimal128(finite(false, BigInt(this.random(60)), this.oneOf([0, -1, 1])))
    }
  }

  value(depth = 3): Value {
    switch (this.random(depth > 0 ? 22 : 19)) {
      case 0:
      case 1:
      case 2:
      case 3:
        return this.number()
      case 4:
      case 5:
        return string(this.oneOf(texts) + this.oneOf(['', '', this.oneOf(texts)]))
      case 6:
        return nullValue
      case 7:
        return bool(this.random(2) === 0)
      case 8:
        return date(this.oneOf([0n, 1n, -1n, 2n ** 62n, -(2n ** 62n), BigInt(this.random(5))]))
      case 9:
        return objectId(this.bytes(12))
      case 10:
        return binary(this.bytes(this.random(4)), this.oneOf([0, 4, 5, 128]))
      case 11:
        return timestamp(this.oneOf([0n, 1n, 2n ** 32n, 2n ** 64n - 1n, 2n ** 63n]))
      case 12:
        return regex(this.oneOf(['a', 'b', 'ab', '']), this.oneOf(['', 'i', 'im']))
      case 13:
        return undefinedValue
      case 14:
        return this.oneOf([minKey, maxKey])
      case 15:
        return { type: bsonType.symbol, value: this.oneOf(texts) }
      case 16:
        return { type: bsonType.code, value: this.oneOf(texts) }
      case 17:
        return { type: bsonType.dbPointer, namespace: this.oneOf(texts), id: this.bytes(12) }
      case 18:
        return { type: bsonType.codeWithScope, code: this.oneOf(texts), scope: this.document(0) }
      case 19:
        return this.document(depth - 1)
      default:
        return BsonArray.of(Array.from({ length: this.random(4) }, () => this.value(depth - 1)))
    }
  }

  document(depth = 3): BsonDocument {
    const fields: Field[] = []
    for (let left = this.random(4); left > 0; left -= 1) fields.push([this.oneOf(names), this.value(depth)])
    return BsonDocument.of(fields)
  }
}
