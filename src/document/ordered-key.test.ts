/** Tests of ordered keys on random hostile values: the order of queries, cut keys and ranges. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvariantError } from '../base/error.ts'
import { nestingDepthMax, queryDepthMax } from '../base/limits.ts'
import { comparePrimitives, compareValues, equalValues } from '../sql/values/compare.ts'
import { type SqlValue, setOwn } from '../sql/values/value.ts'
import { indexKeyBytesMax } from './key-bytes.ts'
import {
  encodeFullKey,
  encodeKey,
  type KeyBound,
  type KeyComponent,
  type KeyPrimitive,
  keyRange,
} from './ordered-key.ts'

/** Numbers below `bound` from a fixed seed (mulberry32). fast-check would take minutes for so many. */
function seeded(seed: number): (bound: number) => number {
  let state = seed
  return bound => {
    state = (state + 0x6d2b79f5) | 0
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) % bound
  }
}

const random = seeded(20_240_229)

function oneOf<T>(choices: readonly T[]): T {
  return choices[random(choices.length)]!
}

const units = [
  ...['\0', '\x01', '\x02', '\x03', 'a', 'b', '\x7e', '\x7f', '\x80', 'ÿ', '\u07ff', '\u0800', '\ud7ff', '\ue000'],
  ...['\uff21', '\ufffd', '\uffff', '\ud800', '\ud801', '\ud83d', '\udbff', '\udc00', '\udc01', '\ude00', '\udfff'],
  ...['\u{10000}', '\u{1f600}', '\u{10ffff}', '\ud800\udfff', '\ud801\udc00', '\udbc0\udc00'],
]

function randomText(lengthMax = 6): string {
  let text = ''
  for (let left = random(lengthMax + 1); left > 0; left -= 1) {
    text += random(4) === 0 ? String.fromCharCode(random(0x10000)) : oneOf(units)
  }
  return text
}

const bits = new DataView(new ArrayBuffer(8))

function randomNumber(): number {
  if (random(3) === 0) return oneOf([0, -0, 1, -1, 0.1, 5e-324, -5e-324, 1.7976931348623157e308, 2 ** 53, -(2 ** 31)])
  bits.setUint32(0, random(2 ** 32))
  bits.setUint32(4, random(2) === 0 ? 0 : random(2 ** 32))
  const number = bits.getFloat64(0)
  return Number.isFinite(number) ? number : random(100)
}

function randomPrimitive(textLengthMax?: number): KeyPrimitive {
  return oneOf([() => null, () => random(2) === 0, randomNumber, () => randomText(textLengthMax)])()
}

function randomObject(depth: number): SqlValue {
  const object: Record<string, SqlValue> = {}
  for (let left = random(4); left > 0; left -= 1) {
    setOwn(object, oneOf([...units, '', '__proto__', '0', '10', 'ab']), randomValue(depth - 1))
  }
  return object
}

function randomValue(depth = 3, textLengthMax?: number): SqlValue {
  const kind = random(depth > 0 ? 10 : 7)
  if (kind === 0) return undefined
  if (kind < 7) return randomPrimitive(textLengthMax)
  return kind < 9 ? Array.from({ length: random(4) }, () => randomValue(depth - 1)) : randomObject(depth)
}

/** Often a variation of the value, because two random values mostly differ at once. */
function relativeOf(value: SqlValue): SqlValue {
  if (random(3) === 0) return randomValue()
  if (typeof value === 'string') {
    const at = random(value.length + 1)
    return value.slice(0, at) + randomText(2) + value.slice(at + random(2))
  }
  if (typeof value === 'number') return random(2) === 0 ? -value : value * (1 - 2 ** -53)
  if (Array.isArray(value)) {
    const copy = [...(value as SqlValue[])]
    if (copy.length > 0 && random(2) === 0) copy[random(copy.length)] = randomValue(1)
    else copy.push(randomValue(1))
    return copy
  }
  if (typeof value === 'object' && value !== null) {
    const copy: Record<string, SqlValue> = {}
    for (const name of Object.keys(value).reverse()) {
      setOwn(copy, name, random(4) === 0 ? randomValue(1) : (value as Record<string, SqlValue>)[name])
    }
    if (random(2) === 0) setOwn(copy, oneOf(units), null)
    return copy
  }
  return randomValue(1)
}

/** Lone surrogates are shown as escapes. */
function shown(...values: unknown[]): string {
  return values.map(value => JSON.stringify(value) ?? 'undefined').join(' and ')
}

/** Building the message is slow for so many cases, so it is built only when needed. */
function expectEqual(actual: unknown, expected: unknown, describe: () => string): void {
  if (actual !== expected) assert.equal(actual, expected, describe())
}

function fullKey(value: SqlValue): Uint8Array {
  return encodeFullKey([{ value }])
}

function isWithin(key: Uint8Array, range: { low: Uint8Array; high: Uint8Array }): boolean {
  return Buffer.compare(key, range.low) >= 0 && Buffer.compare(key, range.high) < 0
}

test('the bytes are those that are documented', () => {
  const cases: [SqlValue, string][] = [
    [undefined, '10'],
    [null, '20'],
    [false, '30'],
    [true, '31'],
    [0, '408000000000000000'],
    [-0, '408000000000000000'],
    [1, '40bff0000000000000'],
    [-1, '40400fffffffffffff'],
    ['', '5000'],
    ['a\0\x01é', '50610101' + '0102c3a900'],
    ['\u{1f600}', '50f09f988000'],
    ['\ud83d', '50f09f907f00'],
    ['\udc01', '50f5808100'],
    [[], '6000'],
    [[null, 'a'], '602050610000'],
    [{}, '7000'],
    [{ b: null, a: true }, '70506100' + '31' + '506200' + '20' + '00'],
  ]
  for (const [value, hex] of cases) assert.equal(Buffer.from(fullKey(value)).toString('hex'), hex, shown(value))
  const descending = encodeFullKey([{ value: 'a', isDescending: true }, { value: null }])
  assert.equal(Buffer.from(descending).toString('hex'), 'af9eff20')
})

test('well-formed text without U+0000 and U+0001 is plain UTF-8', () => {
  for (const text of ['größe', '日本語', '😀 and \u{10ffff}', '\uffff\ufffd']) {
    assert.equal(Buffer.from(fullKey(text)).subarray(1, -1).toString(), text)
  }
})

test('the order of keys is the order of values, for 200,000 random pairs', () => {
  let equal = 0
  for (let round = 0; round < 200_000; round += 1) {
    const left = randomValue()
    const right = relativeOf(left)
    const order = Math.sign(compareValues(left, right))
    if (order === 0) equal += 1
    expectEqual(Buffer.compare(fullKey(left), fullKey(right)), order, () => shown(left, right))
  }
  assert.ok(equal > 5000, 'enough pairs are equal')
})

test('the order of composite keys is the order of their components, each in its direction', () => {
  for (let round = 0; round < 100_000; round += 1) {
    const left: KeyComponent[] = []
    const right: KeyComponent[] = []
    let order = 0
    for (let count = 1 + random(3); count > 0; count -= 1) {
      const isDescending = random(2) === 0
      const value = randomValue(2)
      const other = random(2) === 0 ? value : relativeOf(value)
      left.push({ value, isDescending })
      right.push({ value: other, isDescending })
      order ||= Math.sign(compareValues(value, other)) * (isDescending ? -1 : 1)
    }
    expectEqual(Buffer.compare(encodeFullKey(left), encodeFullKey(right)), order, () => shown(left, right))
  }
})

test('a cut key is the start of the whole key, so cutting never reverses an order', () => {
  let cut = 0
  for (let round = 0; round < 50_000; round += 1) {
    const components = Array.from({ length: 1 + random(3) }, () => ({
      value: randomValue(2, 20),
      isDescending: random(2) === 0,
    }))
    const bytesMax = 1 + random(40)
    const full = encodeFullKey(components)
    const { key, isCut } = encodeKey(components, bytesMax)
    expectEqual(isCut, full.length > bytesMax, () => shown(components))
    expectEqual(Buffer.compare(key, full.subarray(0, bytesMax)), 0, () => shown(components))
    if (isCut) cut += 1
  }
  assert.ok(cut > 5000, 'enough keys are cut')
})

test('keys are cut at 256 bytes, and a key of exactly 256 is whole', () => {
  assert.equal(indexKeyBytesMax, 256)
  assert.equal(encodeKey([{ value: 'a'.repeat(254) }]).isCut, false)
  const { key, isCut } = encodeKey([{ value: 'a'.repeat(255) }])
  assert.equal(isCut, true)
  assert.equal(key.length, 256)
})

test('cut(a) < cut(b) implies a < b', () => {
  for (let round = 0; round < 50_000; round += 1) {
    const left = randomValue(2, 20)
    const right = relativeOf(left)
    const order = Buffer.compare(encodeKey([{ value: left }], 12).key, encodeKey([{ value: right }], 12).key)
    if (order !== 0) expectEqual(Math.sign(compareValues(left, right)), order, () => shown(left, right))
  }
})

test('a key does not change while others are made', () => {
  const first = encodeKey([{ value: 'first' }]).key
  const before = Buffer.from(first).toString('hex')
  keyRange({ equals: 'first' })
  encodeFullKey([{ value: 'x'.repeat(1_000_000) }])
  assert.equal(Buffer.from(first).toString('hex'), before)
})

test('large values have whole keys', () => {
  const text = '\ufffd'.repeat(500_000)
  assert.ok(Buffer.from(text).equals(fullKey(text).subarray(1, -1)))
  const array = Array.from({ length: 100_000 }, (_, index) => index)
  assert.ok(Buffer.concat(array.map(fullKey)).equals(fullKey(array).subarray(1, -1)))
})

test('a value nested too deeply is refused; one that items and queries can build is accepted', () => {
  const nested = (depth: number): SqlValue => {
    let value: SqlValue = []
    for (let left = depth - 1; left > 0; left -= 1) value = [value]
    return value
  }
  assert.equal(fullKey(nested(nestingDepthMax + queryDepthMax)).length, 2 * (nestingDepthMax + queryDepthMax))
  assert.throws(() => fullKey(nested(100_000)), { name: 'RequestError', kind: 'malformed' })
  assert.equal(encodeKey([{ value: nested(100_000) }]).isCut, true)
})

test('a value that is small in memory but huge when written out is refused', () => {
  let value: SqlValue = 'x'.repeat(1000)
  for (let level = 0; level < 40; level += 1) value = [value, value]
  assert.throws(() => fullKey(value), { name: 'RequestError', kind: 'too_large' })
  assert.equal(encodeKey([{ value }]).isCut, true)
})

test('a value that is not JSON is an invariant error', () => {
  assert.throws(() => encodeKey([{ value: 1n }]), InvariantError)
  assert.throws(() => keyRange({ min: 1, minInclusive: true, max: 'a', maxInclusive: true }), InvariantError)
  assert.throws(() => keyRange({ min: null, minInclusive: true, max: false, maxInclusive: true }), InvariantError)
})

/** A bound and its meaning, expressed without keys. */
function randomBound(textLengthMax?: number): { bound: KeyBound; holds: (value: SqlValue) => boolean } {
  const kind = random(6)
  if (kind === 0) {
    const equals = randomValue(2, textLengthMax)
    return { bound: { equals }, holds: value => equalValues(value, equals) }
  }
  if (kind === 1) {
    const startsWith = randomText(2)
    return { bound: { startsWith }, holds: value => typeof value === 'string' && value.startsWith(startsWith) }
  }
  if (kind === 2) return { bound: { defined: true }, holds: value => value !== undefined }

  const min = randomPrimitive(textLengthMax)
  const minInclusive = random(2) === 0
  const isAbove = (value: SqlValue) => satisfies(comparePrimitives(value, min), minInclusive)
  if (kind === 3) return { bound: { min, minInclusive }, holds: isAbove }

  const other = relativeOf(min)
  const max = comparePrimitives(other, min) === undefined ? min : (other as KeyPrimitive)
  const maxInclusive = random(2) === 0
  const isBelow = (value: SqlValue) => satisfies(comparePrimitives(max, value), maxInclusive)
  if (kind === 4) return { bound: { max, maxInclusive }, holds: isBelow }
  return {
    bound: { min, minInclusive, max, maxInclusive },
    holds: value => isAbove(value) && isBelow(value),
  }
}

function satisfies(order: number | undefined, isInclusive: boolean): boolean {
  return order !== undefined && (order > 0 || (isInclusive && order === 0))
}

/** A value on, near or far from the ends of the bound. */
function candidateFor(bound: KeyBound): SqlValue {
  const ends = Object.values(bound).filter(end => typeof end !== 'boolean' || !('defined' in bound)) as SqlValue[]
  const end = oneOf([...ends, undefined])
  if (typeof end === 'string' && random(2) === 0) return end + randomText(2)
  return random(3) === 0 ? end : relativeOf(end)
}

test('a value satisfies a bound exactly when its whole key lies in the range, in both directions', () => {
  let inside = 0
  for (let round = 0; round < 100_000; round += 1) {
    const { bound, holds } = randomBound()
    const value = candidateFor(bound)
    const isDescending = random(2) === 0
    const range = keyRange(bound, { isDescending })
    const key = encodeFullKey([
      { value, isDescending },
      { value: randomValue(1), isDescending: random(2) === 0 },
    ])
    const isInside = holds(value)
    if (isInside) inside += 1
    expectEqual(range.isExact, true, () => shown(bound))
    expectEqual(isWithin(key, range), isInside, () => shown(bound, value, isDescending))
  }
  assert.ok(inside > 10_000, 'enough values satisfy their bound')
})

test('the cut key of a value that satisfies a bound lies in the range; in an exact range no other does', () => {
  let inexact = 0
  for (let round = 0; round < 100_000; round += 1) {
    const bytesMax = 2 + random(16)
    const { bound, holds } = randomBound(12)
    const value = candidateFor(bound)
    const isDescending = random(2) === 0
    const after = random(3) === 0 ? [{ value: randomPrimitive(2), isDescending: random(2) === 0 }] : []
    const range = keyRange(bound, { isDescending, after, bytesMax })
    const rest = { value: randomValue(1), isDescending: random(2) === 0 }
    const { key } = encodeKey([...after, { value, isDescending }, rest], bytesMax)
    const describe = () => shown(bound, value, { isDescending, after, bytesMax })
    if (holds(value)) expectEqual(isWithin(key, range), true, describe)
    else if (range.isExact) expectEqual(isWithin(key, range), false, describe)
    if (!range.isExact) inexact += 1
  }
  assert.ok(inexact > 10_000 && inexact < 90_000, 'both kinds of ranges come up')
})

test('a range after equal components holds no key with another value before it', () => {
  for (let round = 0; round < 50_000; round += 1) {
    const { bound, holds } = randomBound()
    const value = candidateFor(bound)
    const before = randomValue(1)
    const other = relativeOf(before)
    const [isDescending, isBeforeDescending] = [random(2) === 0, random(2) === 0]
    const range = keyRange(bound, { isDescending, after: [{ value: before, isDescending: isBeforeDescending }] })
    const key = encodeFullKey([
      { value: other, isDescending: isBeforeDescending },
      { value, isDescending },
    ])
    const expected = compareValues(before, other) === 0 && holds(value)
    expectEqual(isWithin(key, range), expected, () => shown(bound, value, before, other))
  }
})

test('a prefix that ends inside a surrogate pair finds the strings that start with it', () => {
  const range = keyRange({ startsWith: 'a\ud83d' })
  const expected: [string, boolean][] = [
    ['a\ud83d', true],
    ['a\ud83dz', true],
    ['a😀', true],
    ['a\ud83d\udfff', true],
    ['a\ud83e', false],
    ['a\ud83c\udfff', false],
    ['a\ufffd', false],
  ]
  for (const [text, isInside] of expected) assert.equal(isWithin(fullKey(text), range), isInside, shown(text))
})
