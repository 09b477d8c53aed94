/**
 * Lets indexes serve `$expr`: an equality in the expression is added to the filter as an ordinary condition.
 * The expression itself still decides.
 *
 * `{ $expr: { $eq: ["$a", 5] } }` is true only where `{ a: 5 }` matches, because a path through an array
 * yields an array. If the value is an array the two differ, and a missing value cannot be queried; both give
 * no hint.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Value } from '../../document/bson/value.ts'
import { Context, type VariableScope } from '../expressions/core/scope.ts'
import { compileExpression } from '../expressions/expression.ts'

export function withEqualityHints(
  filter: BsonDocument,
  scope: VariableScope,
  slots: readonly (Value | undefined)[] = [],
): BsonDocument {
  const hints = expressionsIn(filter).flatMap(spec => hintsOf(spec, scope, slots))
  return hints.length === 0 ? filter : BsonDocument.of([['$and', BsonArray.of([...hints, filter])]])
}

/** The expressions that must all be true. Recurses as deep as documents nest. */
function expressionsIn(filter: BsonDocument): readonly Value[] {
  return filter.fields.flatMap(([name, value]) => {
    if (name === '$expr') return [value]
    if (name !== '$and' || value.type !== bsonType.array) return []
    return value.elements.flatMap(each => (each.type === bsonType.document ? expressionsIn(each) : []))
  })
}

function hintsOf(spec: Value, scope: VariableScope, slots: readonly (Value | undefined)[]): readonly BsonDocument[] {
  if (spec.type !== bsonType.document || spec.fields.length !== 1) return []
  const [name, operands] = spec.fields[0]!
  if (operands.type !== bsonType.array) return []
  if (name === '$and') return operands.elements.flatMap(each => hintsOf(each, scope, slots))
  const [left, right] = operands.elements
  if (name !== '$eq' || operands.elements.length !== 2) return []
  const path = pathOf(left!) ?? pathOf(right!)
  const other = pathOf(left!) === undefined ? left! : right!
  if (path === undefined || !isIndependent(other, scope)) return []
  const value = compileExpression(other, scope)(new Context(slots))
  if (value === undefined || value.type === bsonType.array || value.type === bsonType.undefined) return []
  return [BsonDocument.of([[path, BsonDocument.of([['$eq', value]])]])]
}

/** The field path, if the spec is one. */
function pathOf(spec: Value): string | undefined {
  return spec.type === bsonType.string && /^\$[^$]/.test(spec.value) ? spec.value.slice(1) : undefined
}

/** Whether the spec is a plain value, or a variable of the command or of an outer pipeline. */
function isIndependent(spec: Value, scope: VariableScope): boolean {
  if (spec.type === bsonType.document || spec.type === bsonType.array) return false
  if (spec.type !== bsonType.string || !spec.value.startsWith('$')) return true
  return spec.value.startsWith('$$') && scope.find(spec.value.slice(2).split('.', 1)[0]!) !== undefined
}
