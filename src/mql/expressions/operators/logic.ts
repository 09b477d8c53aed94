/** Boolean operators, comparisons and conditions. */

import { compareValues } from '../../../document/bson/compare.ts'
import { bsonType } from '../../../document/bson/types.ts'
import { bool, int32, type Value } from '../../../document/bson/value.ts'
import {
  anyOperands,
  compileArguments,
  exactly,
  isNullish,
  isTrue,
  namedArguments,
  nameOfType,
  oneOperand,
  optional,
  refuse,
  twoOperands,
} from '../core/define-operator.ts'
import type { CompileOperator, Evaluate, OperatorFamily } from '../core/scope.ts'

function comparison(isResult: (order: number) => boolean): CompileOperator {
  return twoOperands((left, right, _name, collation) => bool(isResult(compareValues(left, right, collation))))
}

const conditionOf: CompileOperator = (argument, compiler, name) => {
  if (argument.type !== bsonType.document) return choice(argument, compiler, name)
  const parts = namedArguments(argument, ['if', 'then', 'else'], unknown =>
    refuse(17083, `Unrecognized parameter to $cond: ${unknown}`),
  )
  const [condition, then, otherwise] = (['if', 'then', 'else'] as const).map((part, index) => {
    const spec = parts[part] ?? refuse(17080 + index, `Missing '${part}' parameter to $cond`)
    return compiler.compile(spec)
  })
  return context => (isTrue(condition!(context)) ? then!(context) : otherwise!(context))
}

const choice = exactly(
  3,
  ([condition, then, otherwise]) =>
    context =>
      isTrue(condition!(context)) ? then!(context) : otherwise!(context),
)

const firstNotNull: CompileOperator = (argument, compiler) => {
  const operands = compileArguments(argument, compiler)
  const { length } = operands
  if (length < 2) refuse(1257300, `$ifNull needs at least two arguments, had: ${length}`)
  return context => {
    let value: Value | undefined
    for (const operand of operands) {
      value = operand(context)
      if (!isNullish(value)) return value
    }
    return value
  }
}

const branches: CompileOperator = (argument, compiler) => {
  if (argument.type !== bsonType.document) {
    refuse(40060, `$switch requires an object as an argument, found: ${nameOfType(argument)}`)
  }
  const parts = namedArguments(argument, ['branches', 'default'], unknown =>
    refuse(40067, `$switch found an unknown argument: ${unknown}`),
  )
  const specs = parts.branches
  if (specs !== undefined && specs.type !== bsonType.array) {
    refuse(40061, `$switch expected an array for 'branches', found: ${nameOfType(specs)}`)
  }
  const cases = (specs?.elements ?? []).map((branch): readonly [Evaluate, Evaluate] => {
    if (branch.type !== bsonType.document) {
      refuse(40062, `$switch expected each branch to be an object, found: ${nameOfType(branch)}`)
    }
    const inner = namedArguments(branch, ['case', 'then'], unknown =>
      refuse(40063, `$switch found an unknown argument to a branch: ${unknown}`),
    )
    const condition = inner.case ?? refuse(40064, "$switch requires each branch have a 'case' expression")
    const then = inner.then ?? refuse(40065, "$switch requires each branch have a 'then' expression.")
    return [compiler.compile(condition), compiler.compile(then)]
  })
  const otherwise = optional(compiler, parts.default)
  if (cases.length === 0 && otherwise === undefined) {
    refuse(40069, 'Cannot execute a switch statement where all the cases evaluate to false without a default')
  }
  return context => {
    for (const [condition, then] of cases) if (isTrue(condition(context))) return then(context)
    if (otherwise !== undefined) return otherwise(context)
    return refuse(40066, '$switch could not find a matching branch for an input, and no default was specified.')
  }
}

export const booleanOperators: OperatorFamily = {
  $and: anyOperands(operands => context => bool(operands.every(operand => isTrue(operand(context))))),
  $or: anyOperands(operands => context => bool(operands.some(operand => isTrue(operand(context))))),
  $not: oneOperand(value => bool(!isTrue(value))),
}

export const comparisonOperators: OperatorFamily = {
  $cmp: twoOperands((left, right, _name, collation) => {
    return int32(Math.sign(compareValues(left, right, collation)))
  }),
  $eq: comparison(order => order === 0),
  $ne: comparison(order => order !== 0),
  $gt: comparison(order => order > 0),
  $gte: comparison(order => order >= 0),
  $lt: comparison(order => order < 0),
  $lte: comparison(order => order <= 0),
}

export const conditionalOperators: OperatorFamily = {
  $cond: conditionOf,
  $ifNull: firstNotNull,
  $switch: branches,
}
