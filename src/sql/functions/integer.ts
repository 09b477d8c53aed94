/**
 * Arithmetic on signed 64-bit integers, with wrap-around.
 *
 * Both operands must be whole numbers. A result beyond 2^53 is rounded to the nearest double, because a JSON
 * number holds no more.
 */

import type { SqlValue } from '../values/value.ts'
import { type BuiltIn, define, type FunctionFamily } from './define.ts'

function toInt64(value: SqlValue | bigint): bigint | undefined {
  if (typeof value === 'bigint') return BigInt.asIntN(64, value)
  return typeof value === 'number' && Number.isInteger(value) ? BigInt.asIntN(64, BigInt(value)) : undefined
}

function onInt64(count: number, evaluate: BuiltIn['evaluate']): BuiltIn {
  return { ...define(count, count, evaluate), takesInt64: true }
}

function onIntegers(compute: (left: bigint, right: bigint) => bigint | undefined): BuiltIn {
  return onInt64(2, ([left, right]) => {
    const [a, b] = [toInt64(left), toInt64(right)]
    const result = a === undefined || b === undefined ? undefined : compute(a, b)
    return result === undefined ? undefined : Number(BigInt.asIntN(64, result))
  })
}

/** A shift by a negative count or by 64 and more is not defined. */
function isShift(count: bigint): boolean {
  return count >= 0n && count < 64n
}

const multiply = onIntegers((left, right) => left * right)

export const integerFunctions: FunctionFamily = {
  INTADD: onIntegers((left, right) => left + right),
  INTBITAND: onIntegers((left, right) => left & right),
  INTBITLEFTSHIFT: onIntegers((left, count) => (isShift(count) ? left << count : undefined)),
  INTBITNOT: onInt64(1, ([value]) => {
    const integer = toInt64(value)
    return integer === undefined ? undefined : Number(~integer)
  }),
  INTBITOR: onIntegers((left, right) => left | right),
  INTBITRIGHTSHIFT: onIntegers((left, count) => (isShift(count) ? left >> count : undefined)),
  INTBITXOR: onIntegers((left, right) => left ^ right),
  INTDIV: onIntegers((left, right) => (right === 0n ? undefined : left / right)),
  INTMOD: onIntegers((left, right) => (right === 0n ? undefined : left % right)),
  'INTMUL INTMULTIPLY': multiply,
  INTSUB: onIntegers((left, right) => left - right),
}
