/**
 * All binary and unary operators, in two tables.
 *
 * The common rule: if the operator does not support the type of an operand, the result is undefined. Equality
 * supports all types: values of different types are not equal, and only undefined gives undefined.
 */

import type { BinaryOperator, UnaryOperator } from '../syntax/ast.ts'
import { comparePrimitives, equalValues } from '../values/compare.ts'
import { joinStrings } from '../values/strings.ts'
import { finiteOrUndefined, type SqlValue } from '../values/value.ts'

export type BinaryFunction = (left: SqlValue, right: SqlValue) => SqlValue

function onNumbers(operation: (left: number, right: number) => number): BinaryFunction {
  return (left, right) =>
    typeof left === 'number' && typeof right === 'number' ? finiteOrUndefined(operation(left, right)) : undefined
}

function onOrder(holds: (order: number) => boolean): BinaryFunction {
  return (left, right) => {
    const order = comparePrimitives(left, right)
    return order === undefined ? undefined : holds(order)
  }
}

export const binaryFunctions: Readonly<Record<BinaryOperator, BinaryFunction>> = {
  '*': onNumbers((left, right) => left * right),
  '/': onNumbers((left, right) => left / right),
  '%': onNumbers((left, right) => left % right),
  '+': onNumbers((left, right) => left + right),
  '-': onNumbers((left, right) => left - right),
  // JavaScript's bitwise operators convert to 32 bits exactly as the language requires.
  '&': onNumbers((left, right) => left & right),
  '|': onNumbers((left, right) => left | right),
  '^': onNumbers((left, right) => left ^ right),
  '<<': onNumbers((left, right) => left << right),
  '>>': onNumbers((left, right) => left >> right),
  '>>>': onNumbers((left, right) => left >>> right),
  '||': (left, right) =>
    typeof left === 'string' && typeof right === 'string' ? joinStrings([left, right]) : undefined,
  '=': (left, right) => (left === undefined || right === undefined ? undefined : equalValues(left, right)),
  '!=': (left, right) => (left === undefined || right === undefined ? undefined : !equalValues(left, right)),
  '<': onOrder(order => order < 0),
  '<=': onOrder(order => order <= 0),
  '>': onOrder(order => order > 0),
  '>=': onOrder(order => order >= 0),
}

export const unaryFunctions: Readonly<Record<UnaryOperator, (operand: SqlValue) => SqlValue>> = {
  '-': operand => (typeof operand === 'number' ? -operand : undefined),
  '+': operand => (typeof operand === 'number' ? operand : undefined),
  '~': operand => (typeof operand === 'number' ? ~operand : undefined),
  NOT: operand => (typeof operand === 'boolean' ? !operand : undefined),
}
