/** Tests decimal trigonometry against its laws and against doubles. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  addDecimals,
  divideDecimals,
  multiplyDecimals,
  subtractDecimals,
} from '../../../document/bson/decimal-arithmetic.ts'
import { type Decimal, type FiniteDecimal, parseDecimal, printDecimal } from '../../../document/bson/decimal128.ts'
import { decimalToDouble } from '../../../document/bson/number.ts'
import { arctangentOf, decimalFunctions } from './decimal-trigonometry.ts'

const decimal = (text: string) => parseDecimal(text)!
const one = decimal('1')
const samples = [
  '0',
  '0.5',
  '-0.7',
  '1E-30',
  '1E-5',
  '1',
  '2.5',
  '-10',
  '100.25',
  '3.141592653589793238462643383279503',
  '1E+30',
]

/** Whether two numbers differ by less than `units` in the last of 34 digits. */
function isNear(left: Decimal, right: Decimal, units = 4): boolean {
  const difference = Math.abs(decimalToDouble(subtractDecimals(left, right)))
  const size = Math.max(Math.abs(decimalToDouble(right)), 1e-300)
  return difference <= units * 1e-33 * size || difference === 0
}

test('results agree with those of doubles, within their precision', () => {
  const bounds: Partial<Record<string, (x: number) => boolean>> = {
    asin: x => Math.abs(x) <= 1,
    acos: x => Math.abs(x) <= 1,
    atanh: x => Math.abs(x) < 1,
    acosh: x => x >= 1,
    sin: x => Math.abs(x) < 1e6,
    cos: x => Math.abs(x) < 1e6,
    tan: x => Math.abs(x) < 1e6,
  }
  for (const [name, compute] of Object.entries(decimalFunctions)) {
    for (const text of samples) {
      const x = Number(text)
      if (bounds[name]?.(x) === false || (/h$/.test(name) && Math.abs(x) > 500)) continue
      const expected = Math[name as 'sin'](x)
      const actual = decimalToDouble(compute(decimal(text)))
      const isSame = Math.abs(actual - expected) <= 4e-15 * Math.max(1, Math.abs(expected))
      assert.ok(isSame, `${name}(${text}) is ${actual}, not ${expected}`)
    }
  }
})

test('the squares of sine and cosine add up to one', () => {
  for (const text of samples) {
    const [sine, cosine] = [decimalFunctions.sin(decimal(text)), decimalFunctions.cos(decimal(text))]
    const sum = addDecimals(multiplyDecimals(sine, sine), multiplyDecimals(cosine, cosine))
    assert.ok(isNear(sum, one), `${text}: ${printDecimal(sum)}`)
    if (decimalToDouble(cosine) === 0) continue
    const quotient = divideDecimals(sine, cosine)
    assert.ok(isNear(decimalFunctions.tan(decimal(text)), quotient, 20), text)
  }
})

test('inverse functions undo their functions', () => {
  for (const text of ['0.1', '-0.5', '0.9', '1E-20']) {
    const x = decimal(text)
    assert.ok(isNear(decimalFunctions.sin(decimalFunctions.asin(x)), x, 10), text)
    assert.ok(isNear(decimalFunctions.tan(decimalFunctions.atan(x)), x, 10), text)
    assert.ok(isNear(decimalFunctions.tanh(decimalFunctions.atanh(x)), x, 20), text)
    assert.ok(isNear(decimalFunctions.sinh(decimalFunctions.asinh(x)), x, 20), text)
  }
  assert.ok(isNear(decimalFunctions.cosh(decimalFunctions.acosh(decimal('5'))), decimal('5'), 20))
})

test('the angle of a point lies in its quadrant', () => {
  const angle = (y: string, x: string) =>
    decimalToDouble(arctangentOf(decimal(y) as FiniteDecimal, decimal(x) as FiniteDecimal))
  for (const [y, x] of [
    ['1', '1'],
    ['1', '-1'],
    ['-1', '-1'],
    ['-1', '1'],
    ['0', '-1'],
    ['1', '0'],
    ['-1', '0'],
  ] as const) {
    assert.ok(Math.abs(angle(y, x) - Math.atan2(Number(y), Number(x))) < 1e-15, `${y}, ${x}`)
  }
})

test('NaN and infinities have their own results', () => {
  const printed = (name: keyof typeof decimalFunctions, text: string) =>
    printDecimal(decimalFunctions[name](decimal(text)))
  assert.equal(printed('tanh', '-Infinity'), '-1')
  assert.equal(printed('sinh', '-Infinity'), '-Infinity')
  assert.equal(printed('cosh', '-Infinity'), 'Infinity')
  assert.equal(printed('atan', 'Infinity'), '1.570796326794896619231321691639751')
  assert.equal(printed('asinh', 'NaN'), 'NaN')
  assert.equal(printed('atanh', '1'), 'Infinity')
})
