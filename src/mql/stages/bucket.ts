/** `$bucket`: groups documents by ranges with given boundaries. */

import { compareValues } from '../../document/bson/compare.ts'
import { bsonType, rankOf } from '../../document/bson/types.ts'
import type { Value } from '../../document/bson/value.ts'
import { type AccumulatorStatement, parseStatement } from '../accumulators/statement.ts'
import { collationOf, namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import type { Compiler, Evaluate } from '../expressions/core/scope.ts'
import { bucketGroups, countStatement, isExpressionSpec } from './group.ts'
import type { CompileStage } from './stage.ts'

function readBoundaries(spec: Value, expressions: Compiler): readonly Value[] {
  if (spec.type !== bsonType.array) {
    return refuse(40200, `The $bucket 'boundaries' field must be an array, but found type: ${nameOfType(spec)}.`)
  }
  const boundaries = spec.elements.map(element => {
    const constant = expressions.constant(element)?.value
    const problem = "The $bucket 'boundaries' field must be an array of constant values, but found value:"
    return constant ?? refuse(40191, `${problem} ${printForMessage(element)}.`)
  })
  if (boundaries.length < 2) {
    const found = `${boundaries.length} value(s)`
    refuse(40192, `The $bucket 'boundaries' field must have at least 2 values, but found ${found}.`)
  }
  for (let at = 1; at < boundaries.length; at += 1) {
    const [lower, upper] = [boundaries[at - 1]!, boundaries[at]!]
    if (rankOf(lower.type) !== rankOf(upper.type)) {
      const problem = "All values in the the 'boundaries' option to $bucket must have the same type."
      refuse(40193, `${problem} Found conflicting types ${nameOfType(lower)} and ${nameOfType(upper)}.`)
    }
    if (compareValues(lower, upper, collationOf(expressions)) >= 0) {
      const problem = `elements ${at - 1} and ${at} are not in ascending order`
      const order = `(${printForMessage(lower)} is not less than ${printForMessage(upper)})`
      refuse(40194, `The 'boundaries' option to $bucket must be sorted, but ${problem} ${order}.`)
    }
  }
  return boundaries
}

function readDefault(spec: Value, boundaries: readonly Value[], expressions: Compiler): Value {
  const value = expressions.constant(spec)?.value
  if (value === undefined) {
    return refuse(
      40195,
      `The $bucket 'default' field must be a constant expression, but found: ${printForMessage(spec)}.`,
    )
  }
  const [lowest, highest] = [boundaries[0]!, boundaries.at(-1)!]
  const collation = collationOf(expressions)
  if (compareValues(value, lowest, collation) >= 0 && compareValues(value, highest, collation) < 0) {
    refuse(
      40199,
      "The $bucket 'default' field must be less than the lowest boundary or greater than or equal to the " +
        'highest boundary.',
    )
  }
  return value
}

export function readOutput(
  spec: Value | undefined,
  expressions: Compiler,
  stage: string,
  code: number,
): AccumulatorStatement[] {
  if (spec === undefined) return [countStatement(expressions)]
  if (spec.type !== bsonType.document) {
    const end = stage === '$bucket' ? '.' : ''
    return refuse(code, `The ${stage} 'output' field must be an object, but found type: ${nameOfType(spec)}${end}`)
  }
  return spec.fields.map(([field, value]) => parseStatement(field, value, expressions))
}

export const bucketStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) {
    return refuse(40201, `Argument to $bucket stage must be an object, but found type: ${nameOfType(spec)}.`)
  }
  const options = namedArguments(spec, ['groupBy', 'boundaries', 'default', 'output'], unknown =>
    refuse(40197, `Unrecognized option to $bucket: ${unknown}.`),
  )
  if (options.groupBy === undefined || options.boundaries === undefined) {
    return refuse(40198, "$bucket requires 'groupBy' and 'boundaries' to be specified.")
  }
  if (!isExpressionSpec(options.groupBy)) {
    const problem = "The $bucket 'groupBy' field must be defined as a $-prefixed path or an expression, but found:"
    refuse(40202, `${problem} ${printForMessage(options.groupBy)}.`)
  }
  const boundaries = readBoundaries(options.boundaries, expressions)
  const fallback = options.default === undefined ? undefined : readDefault(options.default, boundaries, expressions)
  const groupBy = expressions.compile(options.groupBy)
  const collation = collationOf(expressions)
  const id: Evaluate = context => {
    const value = groupBy(context)
    const above = boundaries.findIndex(boundary => compareValues(value, boundary, collation) < 0)
    if (above > 0) return boundaries[above - 1]!
    if (fallback !== undefined) return fallback
    return refuse(40066, '$switch could not find a matching branch for an input, and no default was specified.')
  }
  const statements = readOutput(options.output, expressions, '$bucket', 40196)
  return bucketGroups({ name, id, statements, collation })
}
