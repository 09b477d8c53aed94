/** Tests that an independent comparison, `compare.ts` and the bytes of ordered keys agree on the order. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RandomBson } from '../../../test/support/random-bson.ts'
import { indexKeyBytesMax } from '../key-bytes.ts'
import { compareAt, compareValues } from './compare.ts'
import { type FiniteDecimal, parseDecimal, unpackDecimal } from './decimal128.ts'
import { decimal128, exactDecimal, isNumeric } from './number.ts'
import { encodeFullKey, encodeKey, keyOfValue, keyPart } from './ordered-key.ts'
import { bsonType } from './types.ts'
import {
  BsonArray,
  BsonDocument,
  binary,
  bool,
  date,
  double,
  int32,
  int64,
  maxKey,
  minKey,
  type NumericValue,
  nullValue,
  objectId,
  regex,
  string,
  timestamp,
  undefinedValue,
  type Value,
} from './value.ts'

/** The order as MongoDB documents it, written without regard to speed. */
function naive(left: Value, right: Value): number {
  const rankDifference = naiveRank(left) - naiveRank(right)
  if (rankDifference !== 0) return rankDifference
  if (isNumeric(left) && isNumeric(right)) return naiveNumbers(left, right)
  if ('fields' in left && 'fields' in right) return naiveFields(left, right)
  if ('elements' in left && 'elements' in right) {
    return naiveLists(left.elements, right.elements, naive)
  }
  const [a, b] = [left, right] as [Value & Record<string, unknown>, Value & Record<string, unknown>]
  switch (left.type) {
    case bsonType.string:
    case bsonType.symbol:
    case bsonType.code:
      return Buffer.compare(Buffer.from(a.value as string), Buffer.from(b.value as string))
    case bsonType.binary: {
      const [x, y] = [a.value as Uint8Array, b.value as Uint8Array]
      return x.length - y.length || (a.subtype as number) - (b.subtype as number) || Buffer.compare(x, y)
    }
    case bsonType.objectId:
      return Buffer.compare(a.value as Uint8Array, b.value as Uint8Array)
    case bsonType.bool:
    case bsonType.date:
    case bsonType.timestamp:
      return sign(Number((a.value as bigint) > (b.value as bigint)) - Number((a.value as bigint) < (b.value as bigint)))
    case bsonType.regex: {
      const text = (each: Record<string, unknown>) => [
        Buffer.from(each.pattern as string),
        Buffer.from(each.options as string),
      ]
      return naiveLists(text(a), text(b), Buffer.compare)
    }
    case bsonType.dbPointer: {
      const [x, y] = [Buffer.from(a.namespace as string), Buffer.from(b.namespace as string)]
      return x.length - y.length || Buffer.compare(x, y) || Buffer.compare(a.id as Uint8Array, b.id as Uint8Array)
    }
    case bsonType.codeWithScope:
      return (
        Buffer.compare(Buffer.from(a.code as string), Buffer.from(b.code as string)) ||
        naiveFields(a.scope as BsonDocument, b.scope as BsonDocument)
      )
    default:
      return 0
  }
}

const order = [
  [bsonType.minKey],
  [bsonType.undefined],
  [bsonType.null],
  [bsonType.double, bsonType.int32, bsonType.int64, bsonType.decimal128],
  [bsonType.string, bsonType.symbol],
  [bsonType.document],
  [bsonType.array],
  [bsonType.binary],
  [bsonType.objectId],
  [bsonType.bool],
  [bsonType.date],
  [bsonType.timestamp],
  [bsonType.regex],
  [bsonType.dbPointer],
  [bsonType.code],
  [bsonType.codeWithScope],
  [bsonType.maxKey],
] as readonly (readonly number[])[]

function naiveRank({ type }: Value): number {
  return order.findIndex(types => types.includes(type))
}

function naiveLists<T>(left: readonly T[], right: readonly T[], compare: (a: T, b: T) => number): number {
  for (let at = 0; at < Math.min(left.length, right.length); at += 1) {
    const difference = compare(left[at]!, right[at]!)
    if (difference !== 0) return difference
  }
  return left.length - right.length
}

function naiveFields(left: BsonDocument, right: BsonDocument): number {
  return naiveLists(left.fields, right.fields, ([aName, a], [bName, b]) => {
    return naiveRank(a) - naiveRank(b) || Buffer.compare(Buffer.from(aName), Buffer.from(bName)) || naive(a, b)
  })
}

/** With a common denominator. */
function naiveNumbers(left: NumericValue, right: NumericValue): number {
  const [a, b] = [left, right].map(value => {
    if (value.type === bsonType.decimal128) return unpackDecimal(value)
    return value.type === bsonType.double ? exactDecimal(value.value) : parseDecimal(value.value.toString())!
  })
  const level = (each: typeof a) => {
    if (each!.kind === 'nan') return -2
    return each!.kind === 'finite' ? 0 : each!.isNegative ? -1 : 1
  }
  if (level(a) !== 0 || level(b) !== 0) return level(a) - level(b)
  const scale = 7000n
  const integer = ({ isNegative, coefficient, exponent }: FiniteDecimal) =>
    (isNegative ? -1n : 1n) * coefficient * 10n ** (scale + BigInt(exponent))
  const difference = integer(a as FiniteDecimal) - integer(b as FiniteDecimal)
  return difference < 0n ? -1 : difference > 0n ? 1 : 0
}

function sign(difference: number): number {
  return Math.sign(difference) + 0
}

const source = new RandomBson(20_260_615)
const values = Array.from({ length: 350 }, () => source.value())
const keys = values.map(value => keyOfValue(value))
const descending = values.map(value => encodeFullKey([keyPart(value, true)]))

test('two values compare as in an independent comparison: decoded, as bytes and as keys', () => {
  let equal = 0
  const parts = values.map(value => keyPart(value))
  for (const [i, left] of values.entries()) {
    for (const [j, right] of values.entries()) {
      const expected = sign(naive(left, right))
      const show = () =>
        `${i} ${j} ${JSON.stringify([left, right], (_, value) => (typeof value === 'bigint' ? `${value}n` : value))}`
      if (sign(compareValues(left, right)) !== expected) assert.fail(`decoded ${show()}`)
      const [a, b] = [parts[i]!, parts[j]!]
      if (sign(compareAt(a.bytes, a.type, a.start, b.bytes, b.type, b.start)) !== expected)
        assert.fail(`bytes ${show()}`)
      if (sign(Buffer.compare(keys[i]!, keys[j]!)) !== expected) assert.fail(`keys ${show()}`)
      if (sign(Buffer.compare(descending[i]!, descending[j]!)) !== sign(-expected)) assert.fail(`descending ${show()}`)
      if (expected === 0) equal += 1
    }
  }
  assert.ok(equal > 2 * values.length, 'equal values of different types are among them')
})

test('the order is transitive and antisymmetric', () => {
  for (let n = 0; n < 20_000; n += 1) {
    const [a, b, c] = [source.value(), source.value(), source.value()]
    assert.equal(sign(compareValues(a, b)), sign(-compareValues(b, a)))
    if (compareValues(a, b) <= 0 && compareValues(b, c) <= 0) assert.ok(compareValues(a, c) <= 0)
  }
})

test('keys of several components are ordered by the first that differs, each in its direction', () => {
  for (let n = 0; n < 20_000; n += 1) {
    const directions = [source.random(2) === 0, source.random(2) === 0]
    const [left, right] = [0, 1].map(() => [source.oneOf(values), source.oneOf(values)])
    const expected = directions.reduce((found, isDescending, at) => {
      if (found !== 0) return found
      return sign(compareValues(left![at]!, right![at]!)) * (isDescending ? -1 : 1)
    }, 0)
    const [a, b] = [left, right].map(each => encodeFullKey(each!.map((value, at) => keyPart(value, directions[at]))))
    assert.equal(sign(Buffer.compare(a!, b!)), sign(expected))
  }
})

test('a cut key is the start of the whole one and is reported as cut', () => {
  const long = (length: number) => [
    string('x'.repeat(length)),
    string('\0'.repeat(length)),
    binary(Buffer.alloc(length)),
    BsonArray.of(Array.from({ length }, () => int32(1))),
    BsonDocument.of([['n'.repeat(length), string('y'.repeat(length))]]),
  ]
  for (const length of [0, 1, 100, 126, 127, 128, 250, 253, 254, 255, 256, 300, 5000]) {
    for (const value of long(length)) {
      for (const isDescending of [false, true]) {
        const parts = [keyPart(value, isDescending), keyPart(int32(1))]
        const whole = encodeFullKey(parts)
        const { key, isCut } = encodeKey(parts)
        assert.equal(isCut, whole.length > indexKeyBytesMax)
        assert.deepEqual(key, whole.subarray(0, indexKeyBytesMax))
      }
    }
  }
})

test('one number has one key, whatever its type', () => {
  const five = [
    int32(5),
    int64(5n),
    double(5),
    ...['5', '5.00', '0.5E1', '50E-1'].map(text => decimal128(parseDecimal(text)!)),
  ]
  for (const value of five) assert.deepEqual(keyOfValue(value), keyOfValue(int32(5)))
  const zero = [int32(0), double(-0), ...['0', '-0', '0E+300', '-0.000'].map(text => decimal128(parseDecimal(text)!))]
  for (const value of zero) assert.deepEqual(keyOfValue(value), keyOfValue(int32(0)))
})

test('the bytes of keys are those that are stored on disk', () => {
  const cases: [Value, string][] = [
    [minKey, '08'],
    [undefinedValue, '10'],
    [nullValue, '18'],
    [int32(1), '20bff000000000000000'],
    [double(-1), '20400fffffffffffffff'],
    [double(-0), '20800000000000000000'],
    [double(Number.NaN), '20000000000000000000'],
    [double(-Infinity), '20000fffffffffffffff'],
    [int64(2n ** 53n + 1n), '20c34000000000000001183001bc16d674ec800de0b6b3a7640000'],
    [int64(-(2n ** 53n) - 1n), '203cbffffffffffffffee7cffe43e9298b137ff21f494c589bffff'],
    [decimal128(parseDecimal('0.1')!), '20bfb999999999999901182000314dc6448d9338c15b0a00000000'],
    [decimal128(parseDecimal('-1E-6176')!), '207ffffffffffffffffefffeffceb239bb726cc73ea4f5ffffffff'],
    [string('a\0\x01é'), '286101010102c3a900'],
    [{ type: bsonType.symbol, value: 'a' }, '286100'],
    [
      BsonDocument.of([
        ['a', bool(true)],
        ['b', nullValue],
      ]),
      '305061000118620000',
    ],
    [BsonArray.of([nullValue, string('a')]), '381828610000'],
    [binary(Uint8Array.of(0, 1, 255), 4), '4000000003040001ff'],
    [objectId(Uint8Array.of(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 255)), '48000102030405060708090aff'],
    [bool(false), '5000'],
    [date(-1n), '587fffffffffffffff'],
    [timestamp(4294967298n), '600000000100000002'],
    [regex('a', 'i'), '6861006900'],
    [
      { type: bsonType.dbPointer, namespace: 'n', id: new Uint8Array(12).fill(5) },
      '7000000012020000006e00050505050505050505050505',
    ],
    [{ type: bsonType.code, value: 'c' }, '786300'],
    [{ type: bsonType.codeWithScope, code: 'c', scope: BsonDocument.of([['a', nullValue]]) }, '80630018610000'],
    [maxKey, 'f0'],
  ]
  for (const [value, hex] of cases) assert.equal(Buffer.from(keyOfValue(value)).toString('hex'), hex)
  const descending = encodeFullKey([keyPart(string('a'), true), keyPart(nullValue)])
  assert.equal(Buffer.from(descending).toString('hex'), 'd79eff18')
})
