/** `$group` and `$sortByCount`, and the parts that `$bucket` shares with them. */

import { isNumeric } from '../../document/bson/number.ts'
import { type Origin, onlyOrigin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Field, int32, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { Accumulator } from '../accumulators/accumulator.ts'
import { keptValue } from '../accumulators/kept-value.ts'
import { type AccumulatorStatement, parseStatement } from '../accumulators/statement.ts'
import { collationOf, refuse } from '../expressions/core/define-operator.ts'
import { type Compiler, Context, type Evaluate, tracedValue } from '../expressions/core/scope.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import { checkFieldName } from '../paths/expression-path.ts'
import { compileSort } from '../paths/sort-order.ts'
import { Memory, refuseGroupMemory } from './memory.ts'
import { sorted } from './sort.ts'
import { type CompileStage, forEachDocument, inBatches, type Run, type Stage, type Stream } from './stage.ts'

interface Group {
  readonly id: Value
  readonly accumulators: readonly Accumulator[]
  /** The only document of the group, if there is one. A group of several does not die with them. */
  origin: Origin | undefined
}

/** Overhead of a group besides its key, its `_id` and its accumulators. */
const groupBytes = 200

const nothing = BsonDocument.of([])

export class Groups implements Disposable {
  readonly #statements: readonly AccumulatorStatement[]
  readonly #groups = new Map<string, Group>()
  readonly #memory: Memory
  readonly #context: Context
  readonly #collation: Collation | undefined

  constructor({ statements, name, collation }: Omit<Grouping, 'id'>, slots: Run['slots']) {
    this.#statements = statements
    this.#collation = collation
    this.#memory = new Memory(() => refuseGroupMemory(name))
    this.#context = new Context(slots)
  }

  [Symbol.dispose](): void {
    this.#memory[Symbol.dispose]()
  }

  /** The context is positioned at the document. */
  add(id: Value, context: Context): void {
    const identity = valueIdentity(id, this.#collation)
    const { origin } = context.root
    const group = this.#groups.get(identity) ?? this.#begin(identity, id, origin)
    group.origin = onlyOrigin(group.origin, origin)
    for (const [index, accumulator] of group.accumulators.entries()) {
      if (!accumulator.isOpen) continue
      const before = accumulator.bytes
      accumulator.take(tracedValue(this.#statements[index]!.argument, context), origin)
      const grown = accumulator.bytes - before
      if (grown !== 0) this.#memory.add(grown)
    }
  }

  #begin(identity: string, id: Value, origin: Origin | undefined): Group {
    const kept = keptValue(withOrigin(id, undefined))
    // `n` of `$topN` and its like may use the group's `_id`.
    this.#context.at(id.type === bsonType.document ? id : nothing)
    const accumulators = this.#statements.map(statement => statement.begin(this.#context))
    this.#memory.add(groupBytes + identity.length + kept.bytes)
    for (const { bytes } of accumulators) this.#memory.add(bytes)
    const group: Group = { id: kept.value, accumulators, origin }
    this.#groups.set(identity, group)
    return group
  }

  *documents(): Generator<BsonDocument> {
    for (const { id, accumulators, origin } of this.#groups.values()) {
      yield withOrigin(BsonDocument.of([['_id', id], ...resultFields(this.#statements, accumulators)]), origin)
    }
  }
}

export function resultFields(
  statements: readonly AccumulatorStatement[],
  accumulators: readonly Accumulator[],
): Field[] {
  return statements.map(({ field }, index) => [field, accumulators[index]!.result() ?? nullValue])
}

interface Grouping {
  readonly name: string
  readonly id: Evaluate
  readonly statements: readonly AccumulatorStatement[]
  readonly collation: Collation | undefined
}

async function* grouped(input: Stream, grouping: Grouping, { slots, slice }: Run) {
  const { id } = grouping
  using groups = new Groups(grouping, slots)
  const context = new Context(slots)
  await forEachDocument(input, slice, document => {
    context.at(document)
    groups.add(id(context) ?? nullValue, context)
  })
  yield* inBatches(groups.documents(), slice)
}

/** Compiles `_id`. A document without an operator lists fields, and may not contain inclusion flags. */
function compileId(spec: Value, expressions: Compiler): Evaluate {
  if (spec.type === bsonType.document && !isOperator(spec)) {
    for (const [, value] of spec.fields) {
      if (isNumeric(value) || value.type === bsonType.bool) {
        refuse(17390, '$group does not support inclusion-style expressions')
      }
    }
  }
  return expressions.compile(spec)
}

export const groupStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) return refuse(15947, "a group's fields must be specified in an object")
  let id: Evaluate | undefined
  const statements: AccumulatorStatement[] = []
  for (const [field, value] of spec.fields) {
    if (field !== '_id') {
      statements.push(parseStatement(field, value, expressions))
      continue
    }
    if (id !== undefined) refuse(15948, "a group's _id may only be specified once")
    id = compileId(value, expressions)
  }
  if (id === undefined) return refuse(15955, 'a group specification must include an _id')
  refuseRepetition(statements)
  const grouping: Grouping = { name, id, statements, collation: collationOf(expressions) }
  return { name, run: (input, run) => grouped(input, grouping, run) }
}

function refuseRepetition(statements: readonly AccumulatorStatement[]): void {
  const names = new Set<string>()
  for (const { field } of statements) {
    checkFieldName(field)
    if (names.has(field)) refuse(16406, `duplicate field name specified in object literal: ${field}`)
    names.add(field)
  }
}

/** Whether the spec is a field path or a document with an operator. */
export function isExpressionSpec(spec: Value): boolean {
  if (spec.type === bsonType.string) return spec.value.startsWith('$') && spec.value.length > 1
  return spec.type === bsonType.document && isOperator(spec)
}

function isOperator({ fields }: BsonDocument): boolean {
  return fields[0]?.[0].startsWith('$') === true
}

/** `{ $sum: 1 }`: the default output of a bucket. */
export function countStatement(expressions: Compiler): AccumulatorStatement {
  return parseStatement('count', BsonDocument.of([['$sum', int32(1)]]), expressions)
}

function groupedAndSorted(grouping: Grouping, order: readonly Field[]): Stage {
  const sort = compileSort(BsonDocument.of(order), grouping.collation)
  return {
    name: grouping.name,
    run: (input, run) => sorted(grouped(input, grouping, run), sort, Number.POSITIVE_INFINITY, run.slice),
  }
}

export const sortByCountStage: CompileStage = (spec, { expressions }, name) => {
  const problem = 'the sortByCount field must be defined as a $-prefixed path or an expression inside an object'
  if (spec.type === bsonType.document && !isExpressionSpec(spec)) refuse(40147, problem)
  if (spec.type === bsonType.string && !isExpressionSpec(spec)) refuse(40148, problem)
  if (spec.type !== bsonType.document && spec.type !== bsonType.string) {
    refuse(40149, 'the sortByCount field must be specified as a string or as an object')
  }
  const statements = [countStatement(expressions)]
  const grouping = { name, id: expressions.compile(spec), statements, collation: collationOf(expressions) }
  return groupedAndSorted(grouping, [['count', int32(-1)]])
}

/** Groups by an `_id` that was computed before; the result is sorted by `_id`. */
export function bucketGroups(grouping: Grouping): Stage {
  return groupedAndSorted(grouping, [['_id', int32(1)]])
}
