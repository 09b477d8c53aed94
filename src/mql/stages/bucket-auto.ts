/** `$bucketAuto`: splits documents into ranges of about the same size. */

import { compareValues } from '../../document/bson/compare.ts'
import { isNaNValue, isNumeric, toDouble } from '../../document/bson/number.ts'
import { keyOfValue } from '../../document/bson/ordered-key.ts'
import { onlyOrigin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import type { AccumulatorStatement } from '../accumulators/statement.ts'
import { collationOf, int32Of, namedArguments, nameOfType, refuse } from '../expressions/core/define-operator.ts'
import { printForMessage } from '../expressions/core/print-for-message.ts'
import { Context, type Evaluate, tracedValue } from '../expressions/core/scope.ts'
import { readOutput } from './bucket.ts'
import { type Granularity, granularityNamed } from './granularity.ts'
import { isExpressionSpec, resultFields } from './group.ts'
import { Sorter } from './sort.ts'
import { type CompileStage, encoded, forEachDocument, inBatches, type Run } from './stage.ts'

interface Buckets {
  readonly count: number
  readonly key: Evaluate
  readonly statements: readonly AccumulatorStatement[]
  readonly granularity: Granularity | undefined
  readonly collation: Collation | undefined
}

interface Bucket {
  readonly min: Value
  readonly max: Value
  readonly documents: readonly BsonDocument[]
}

/**
 * Cuts the sorted documents into buckets. Equal keys stay together, so there may be fewer buckets than asked
 * for. With a granularity, the boundaries are numbers of its series.
 */
function* cut(documents: readonly BsonDocument[], keys: readonly Value[], buckets: Buckets): Generator<Bucket> {
  const { granularity } = buckets
  const { length } = documents
  const size = Math.max(1, Math.round(length / buckets.count))
  let start = 0
  let previousMax: Value | undefined
  for (let number = 1; number <= buckets.count && start < length; number += 1) {
    let end = number === buckets.count ? length : Math.min(length, start + size)
    let boundary = granularity?.up(keys[end - 1]!)
    while (end < length && belongs(keys[end]!, keys[end - 1]!, boundary, buckets.collation)) end += 1
    const next = keys[end]
    if (boundary === undefined) boundary = next ?? keys[end - 1]!
    else if (next !== undefined && isZero(boundary)) boundary = granularity!.down(next)
    const min = granularity === undefined ? keys[start]! : (previousMax ?? granularity.down(keys[start]!))
    yield { min, max: boundary, documents: documents.slice(start, end) }
    previousMax = boundary
    start = end
  }
}

function belongs(key: Value, last: Value, boundary: Value | undefined, collation: Collation | undefined): boolean {
  return (boundary !== undefined && compareValues(boundary, key) > 0) || compareValues(last, key, collation) === 0
}

function isZero(value: Value): boolean {
  return isNumeric(value) && toDouble(value) === 0
}

function checkKey(key: Value | undefined): void {
  const problem = "$bucketAuto can specify a 'granularity' with"
  if (!isNumeric(key)) {
    refuse(40258, `${problem} numeric boundaries only, but found a value with type: ${nameOfType(key)}`)
  }
  if (isNaNValue(key)) refuse(40259, `${problem} numeric boundaries only, but found a NaN`)
  if (toDouble(key) < 0) refuse(40260, `${problem} non-negative numbers only, but found a negative number`)
}

function* documentsOf(sorted: readonly BsonDocument[], buckets: Buckets, { slots }: Run): Generator<BsonDocument> {
  const { statements, key } = buckets
  const context = new Context(slots)
  const keys = sorted.map(document => key(context.at(document)) ?? nullValue)
  for (const { min, max, documents } of cut(sorted, keys, buckets)) {
    const accumulators = statements.map(statement => statement.begin(context))
    for (const document of documents) {
      context.at(document)
      for (const [index, accumulator] of accumulators.entries()) {
        accumulator.take(tracedValue(statements[index]!.argument, context), document.origin)
      }
    }
    const id = BsonDocument.of([
      ['min', min],
      ['max', max],
    ])
    const origin = documents.map(document => document.origin).reduce(onlyOrigin)
    yield withOrigin(BsonDocument.of([['_id', id], ...resultFields(statements, accumulators)]), origin)
  }
}

export const bucketAutoStage: CompileStage = (spec, { expressions }, name) => {
  if (spec.type !== bsonType.document) {
    return refuse(40240, `The argument to $bucketAuto must be an object, but found type: ${nameOfType(spec)}`)
  }
  const options = namedArguments(spec, ['groupBy', 'buckets', 'output', 'granularity'], unknown =>
    refuse(40245, `Unrecognized option to $bucketAuto: ${unknown}`),
  )
  if (options.groupBy !== undefined && !isExpressionSpec(options.groupBy)) {
    const problem = "The $bucketAuto 'groupBy' field must be defined as a $-prefixed path or an expression object,"
    refuse(40239, `${problem} but found: ${printForMessage(options.groupBy)}`)
  }
  const count = options.buckets === undefined ? undefined : bucketCount(options.buckets)
  const statements = readOutput(options.output, expressions, '$bucketAuto', 40244)
  const granularity = readGranularity(options.granularity)
  if (options.groupBy === undefined || count === undefined) {
    return refuse(40246, "$bucketAuto requires 'groupBy' and 'buckets' to be specified")
  }
  if (count <= 0) refuse(40243, `The $bucketAuto 'buckets' field must be greater than 0, but found: ${count}`)
  const key = expressions.compile(options.groupBy)
  const collation = collationOf(expressions)
  const buckets: Buckets = { count, key, statements, granularity, collation }
  return {
    name,
    async *run(input, run) {
      using sorter = new Sorter(Number.POSITIVE_INFINITY)
      const context = new Context(run.slots)
      await forEachDocument(input, run.slice, document => {
        const value = key(context.at(document))
        if (granularity !== undefined) checkKey(value)
        sorter.add(keyOfValue(value ?? nullValue, collation), encoded(document))
      })
      yield* inBatches(documentsOf(await sorter.documents(run.slice), buckets, run), run.slice)
    },
  }
}

function bucketCount(value: Value): number {
  const problem = "The $bucketAuto 'buckets' field must be"
  if (!isNumeric(value)) return refuse(40241, `${problem} a numeric value, but found type: ${nameOfType(value)}`)
  return int32Of(value) ?? refuse(40242, `${problem} representable as a 32-bit integer, but found ${toDouble(value)}`)
}

function readGranularity(spec: Value | undefined): Granularity | undefined {
  if (spec === undefined) return undefined
  if (spec.type !== bsonType.string) {
    return refuse(40261, `The $bucketAuto 'granularity' field must be a string, but found type: ${nameOfType(spec)}`)
  }
  return granularityNamed(spec.value)
}
