/** Tests of arithmetic on the four types of numbers. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Decimal128 } from 'bson'
import { RandomBson } from '../../../test/support/random-bson.ts'
import { packDecimal, parseDecimal, printDecimal, unpackDecimal } from './decimal128.ts'
import * as number from './number.ts'
import { typeName } from './types.ts'
import { double, int32, int64, type NumericValue } from './value.ts'

/** `int 5`, `long 5`, `double 5`, `decimal 5.00` */
function read(text: string): NumericValue {
  const [type, digits = ''] = text.split(' ')
  if (type === 'int') return int32(Number(digits))
  if (type === 'long') return int64(BigInt(digits))
  if (type === 'double') return double(Number(digits))
  return number.decimal128(parseDecimal(digits)!)
}

function print(value: NumericValue | undefined): string {
  return value === undefined ? 'none' : `${typeName(value.type)} ${number.printNumber(value)}`
}

type Operation = (...values: NumericValue[]) => NumericValue | undefined

const cases: readonly (readonly [Operation, readonly string[], string])[] = [
  [number.add, ['int 1', 'int 2'], 'int 3'],
  [number.add, ['int 2147483647', 'int 1'], 'long 2147483648'],
  [number.add, ['int 1', 'long 2'], 'long 3'],
  [number.add, ['long 9223372036854775807', 'int 1'], 'double 9.223372036854776e+18'],
  [number.add, ['int 1', 'double 2'], 'double 3'],
  [number.add, ['double 0.1', 'double 0.2'], 'double 0.30000000000000004'],
  [number.add, ['decimal 0.1', 'decimal 0.2'], 'decimal 0.3'],
  [number.add, ['decimal 1.10', 'int 2'], 'decimal 3.10'],
  [number.add, ['decimal 1', 'double 0.1'], 'decimal 1.100000000000000'],
  [number.add, ['decimal 1E+40', 'decimal 1'], 'decimal 1.000000000000000000000000000000000E+40'],
  [number.add, ['decimal Infinity', 'decimal -Infinity'], 'decimal NaN'],
  [number.addExactly, ['long 9223372036854775807', 'int 1'], 'none'],
  [number.addExactly, ['int 2147483647', 'int 1'], 'long 2147483648'],
  [number.subtract, ['int -2147483648', 'int 1'], 'long -2147483649'],
  [number.subtract, ['long 5', 'long 5'], 'long 0'],
  [number.subtract, ['decimal 1.00', 'int 1'], 'decimal 0.00'],
  [number.multiply, ['int 65536', 'int 65536'], 'long 4294967296'],
  [number.multiply, ['int 0', 'int -1'], 'int 0'],
  [number.multiply, ['int 2147483647', 'int 2147483647'], 'long 4611686014132420609'],
  [number.multiply, ['long 9223372036854775807', 'long 2'], 'double 1.8446744073709552e+19'],
  [number.multiplyExactly, ['long 9223372036854775807', 'long 2'], 'none'],
  [number.multiply, ['decimal 1.5', 'decimal 1.50'], 'decimal 2.250'],
  [number.divide, ['int 6', 'int 3'], 'double 2'],
  [number.divide, ['int 1', 'int 3'], 'double 0.3333333333333333'],
  [number.divide, ['decimal 6', 'decimal 3'], 'decimal 2'],
  [number.divide, ['decimal 1', 'int 8'], 'decimal 0.125'],
  [number.divide, ['decimal 2', 'decimal 3'], 'decimal 0.6666666666666666666666666666666667'],
  [number.divide, ['decimal 1', 'decimal 0'], 'decimal Infinity'],
  [number.mod, ['int -7', 'int 3'], 'int -1'],
  [number.mod, ['int 7', 'long 3'], 'long 1'],
  [number.mod, ['double 7.5', 'int 2'], 'double 1.5'],
  [number.mod, ['decimal -7.5', 'int 2'], 'decimal -1.5'],
  [number.mod, ['decimal 1E+6000', 'int 7'], 'decimal 1'],
  [number.abs, ['int -2147483648'], 'long 2147483648'],
  [number.abs, ['long -9223372036854775808'], 'none'],
  [number.abs, ['decimal -1.0'], 'decimal 1.0'],
  [number.ceil, ['double 1.2'], 'double 2'],
  [number.ceil, ['decimal -1.2'], 'decimal -1'],
  [number.floor, ['decimal -1.2'], 'decimal -2'],
  [number.floor, ['long 5'], 'long 5'],
  [value => number.round(value!), ['double 2.5'], 'double 2'],
  [value => number.round(value!), ['double 3.5'], 'double 4'],
  [value => number.round(value!), ['double -0.4'], 'double -0'],
  [value => number.round(value!, 1), ['double 19.25'], 'double 19.2'],
  [value => number.round(value!, 1), ['double 28.73'], 'double 28.7'],
  [value => number.round(value!, -1), ['int 15'], 'int 20'],
  [value => number.round(value!, -1), ['int 25'], 'int 20'],
  [value => number.round(value!, -9), ['int 2147483647'], 'int 2000000000'],
  [value => number.round(value!, -10), ['int 2147483647'], 'int 0'],
  [value => number.round(value!, -19), ['long 9223372036854775807'], 'none'],
  [value => number.round(value!, 2), ['decimal 1.005'], 'decimal 1.00'],
  [value => number.round(value!, 2), ['decimal 1.5'], 'decimal 1.50'],
  [value => number.trunc(value!, -1), ['int -19'], 'int -10'],
  [value => number.trunc(value!, 1), ['double 19.29'], 'double 19.2'],
  [number.sqrt, ['int 25'], 'double 5'],
  [number.sqrt, ['decimal 2'], 'decimal 1.414213562373095048801688724209698'],
  [number.sqrt, ['decimal 100'], 'decimal 10'],
  [number.exp, ['decimal 1'], 'decimal 2.718281828459045235360287471352662'],
  [number.exp, ['decimal -10000'], 'decimal 1.135483865314736098540938875066248E-4343'],
  [number.ln, ['decimal 10'], 'decimal 2.302585092994045684017991454684364'],
  [number.ln, ['decimal 1'], 'decimal 0'],
  [number.log10, ['decimal 0.001'], 'decimal -3'],
  [number.log10, ['int 1000'], 'double 3'],
  [number.log10, ['decimal 2'], 'decimal 0.3010299956639811952137388947244930'],
  [number.pow, ['int 5', 'int 2'], 'int 25'],
  [number.pow, ['int 2', 'int 31'], 'long 2147483648'],
  [number.pow, ['int 2', 'int 63'], 'double 9.223372036854776e+18'],
  [number.pow, ['int 2', 'int -1'], 'double 0.5'],
  [number.pow, ['int -1', 'int -3'], 'int -1'],
  [number.pow, ['long 1', 'long 9223372036854775807'], 'long 1'],
  [number.pow, ['decimal 1.1', 'int 3'], 'decimal 1.331'],
  [number.pow, ['decimal 2', 'decimal 0.5'], 'decimal 1.414213562373095048801688724209698'],
  [number.pow, ['decimal -2', 'decimal 0.5'], 'decimal NaN'],
  [number.pow, ['decimal 10', 'decimal 7000'], 'decimal Infinity'],
]

for (const [operation, operands, expected] of cases) {
  test(`${operation.name || 'rounding'} of ${operands.join(' and ')} is ${expected}`, () => {
    assert.equal(print(operation(...operands.map(read))), expected)
  })
}

test('decimals are read, packed, unpacked and printed as by the official package', () => {
  const source = new RandomBson(3)
  const texts = [
    '0',
    '-0',
    '1E+6111',
    '9.99E-6144',
    '1E-6176',

    'NaN',
    '-Infinity',
    '0E+6200',
    '1.0E-7',
    '123E-8',
  ]
  // When it rounds, the package looks at only one digit beyond 34.
  for (let n = 0; n < 3000; n += 1) {
    const digits = Array.from({ length: 1 + source.random(34) }, () => source.random(10)).join('')
    const point = source.random(digits.length)
    texts.push(`${source.oneOf(['', '-'])}${digits.slice(0, point)}.${digits.slice(point)}E${source.random(80) - 40}`)
  }
  for (const text of texts) {
    const official = Decimal128.fromStringWithRounding(text)
    const ours = packDecimal(parseDecimal(text)!)
    const bytes = Buffer.alloc(16)
    bytes.writeBigUInt64LE(ours.low, 0)
    bytes.writeBigUInt64LE(ours.high, 8)
    assert.equal(printDecimal(unpackDecimal(ours)), official.toString(), text)
    assert.deepEqual(bytes, Buffer.from(official.bytes), text)
  }
})

test('more than 34 digits are rounded half to even', () => {
  const ones = '1'.repeat(33)
  const rounded: readonly (readonly [string, string])[] = [
    [`${ones}25`, `1.${'1'.repeat(32)}2E+34`],
    [`${ones}35`, `1.${'1'.repeat(32)}4E+34`],
    [`${ones}250000000000000000001`, `1.${'1'.repeat(32)}3E+53`],
    ['9'.repeat(35), `1.${'0'.repeat(33)}E+35`],
    ['1E-6177', '0E-6176'],
    ['6E-6177', '1E-6176'],
    ['1E+7000', 'Infinity'],
  ]
  for (const [text, expected] of rounded) assert.equal(printDecimal(parseDecimal(text)!), expected)
})

test('text that is not a number is not a decimal', () => {
  for (const text of ['', '.', 'e5', '1e', '1.2.3', ' 1', '1 ', '0x10', '--1', 'Infinit', '+']) {
    assert.equal(parseDecimal(text), undefined, text)
  }
})

test('sums and products of decimals equal those of fractions, rounded', () => {
  const source = new RandomBson(4)
  for (let n = 0; n < 3000; n += 1) {
    const [a, b] = [source.random(100_000) - 50_000, source.random(100_000) - 50_000]
    const [left, right] = [a, b].map(each => read(`decimal ${each}E-2`))
    assert.equal(number.compareNumbers(number.add(left!, right!), read(`decimal ${a + b}E-2`)), 0)
    assert.equal(number.compareNumbers(number.multiply(left!, right!), read(`decimal ${a * b}E-4`)), 0)
    if (b !== 0) {
      const back = number.multiply(number.divide(left!, right!), right!)
      const error = number.abs(number.subtract(back, left!))!
      assert.ok(number.compareNumbers(error, read('decimal 1E-28')) < 0)
    }
  }
})

test('logarithms and powers are inverse to each other up to the last digits', () => {
  const source = new RandomBson(5)
  for (let n = 0; n < 100; n += 1) {
    const value = read(`decimal ${1 + source.random(1_000_000)}E${source.random(20) - 10}`)
    const error = number.abs(number.subtract(number.divide(number.exp(number.ln(value)), value), int32(1)))!
    assert.ok(number.compareNumbers(error, read('decimal 1E-31')) < 0, number.printNumber(value))
  }
})
