/** Declares built-in functions: arity and implementation, with short forms for common argument types. */

import { spend } from '../../base/work.ts'
import type { RunContext } from '../values/run-context.ts'
import type { SqlValue } from '../values/value.ts'

export interface BuiltIn {
  readonly argumentsMin: number
  readonly argumentsMax: number
  readonly evaluate: (values: readonly SqlValue[], context: RunContext) => SqlValue
  /** The service has this function, but Mayfly does not: a query that uses it is refused before it runs. */
  readonly isRefused?: boolean
  /** Integer literals that a number cannot hold are passed as bigint. */
  readonly takesInt64?: boolean
}

/** A key lists all spellings of one function, separated by blanks. */
export type FunctionFamily = Readonly<Record<string, BuiltIn>>

export function define(argumentsMin: number, argumentsMax: number, evaluate: BuiltIn['evaluate']): BuiltIn {
  const counted: BuiltIn['evaluate'] = (values, context) => {
    for (const value of values) countLong(value)
    return evaluate(values, context)
  }
  return { argumentsMin, argumentsMax, evaluate: counted }
}

/**
 * Counts the work of a long argument. Many functions pass a text or an array to the runtime, which reads all
 * of it in one call.
 */
function countLong(value: SqlValue): void {
  if (typeof value === 'string') {
    if (value.length > countedLengthMin) spend(value.length / charsPerStep)
  } else if (Array.isArray(value) && value.length > countedLengthMin) spend(value.length)
}

const countedLengthMin = 256

/** The runtime takes 1 to 20 nanoseconds for a character. */
const charsPerStep = 4

/** At least `argumentsMin` arguments, without an upper limit. */
export function defineOpen(argumentsMin: number, evaluate: BuiltIn['evaluate']): BuiltIn {
  return define(argumentsMin, Number.POSITIVE_INFINITY, evaluate)
}

export function onNumber(compute: (number: number) => SqlValue): BuiltIn {
  return define(1, 1, ([number]) => (typeof number === 'number' ? compute(number) : undefined))
}

export function onTwoNumbers(compute: (left: number, right: number) => SqlValue): BuiltIn {
  return define(2, 2, ([left, right]) =>
    typeof left === 'number' && typeof right === 'number' ? compute(left, right) : undefined,
  )
}

export function onString(compute: (text: string) => SqlValue): BuiltIn {
  return define(1, 1, ([text]) => (typeof text === 'string' ? compute(text) : undefined))
}

export function onTwoStrings(compute: (text: string, other: string) => SqlValue): BuiltIn {
  return define(2, 2, ([text, other]) =>
    typeof text === 'string' && typeof other === 'string' ? compute(text, other) : undefined,
  )
}

export function onArray(compute: (array: readonly SqlValue[]) => SqlValue): BuiltIn {
  return define(1, 1, ([array]) => (Array.isArray(array) ? compute(array) : undefined))
}

export function onTwoArrays(compute: (left: readonly SqlValue[], right: readonly SqlValue[]) => SqlValue): BuiltIn {
  return define(2, 2, ([left, right]) =>
    Array.isArray(left) && Array.isArray(right) ? compute(left, right) : undefined,
  )
}

/** Whether every value is a string; narrows the type of the list. */
export function areStrings(values: readonly SqlValue[]): values is readonly string[] {
  return values.every(value => typeof value === 'string')
}
