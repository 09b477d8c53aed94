/**
 * `$densify`: adds documents where a sequence of numbers or dates has gaps.
 *
 * Each partition has a grid. It begins at the lower bound (explicit bounds), at the lowest value of all
 * documents (`full`) or at that of the partition (`partition`). Before a document, the grid values below its
 * own are added; a document on the grid takes the place of its grid value.
 */

import { spend } from '../../base/work.ts'
import { compareValues } from '../../document/bson/compare.ts'
import { add, compareNumbers, isNumeric, toDouble } from '../../document/bson/number.ts'
import { type Origin, onlyOrigin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, date, int32, type NumericValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { int64Of, isNullish, refuse } from '../expressions/core/define-operator.ts'
import { addToDate, isUnit, type Unit } from '../expressions/dates/date-arithmetic.ts'
import { utc } from '../expressions/dates/time-zone.ts'
import { valueIdentity } from '../expressions/values/value-identity.ts'
import { checkedPath } from '../paths/expression-path.ts'
import { compileSort } from '../paths/sort-order.ts'
import { Memory, refuseDensifyMemory } from './memory.ts'
import { atPath, withPath } from './nested-field.ts'
import { sorted } from './sort.ts'
import { type CompileStage, largeBatchDocumentsMax, type Run, type Stream } from './stage.ts'
import { stageArguments, stageDocument, stringsIn } from './stage-arguments.ts'

/** MongoDB's limit for documents that one stage adds. */
const generatedDocumentsMax = 500_000

/** Making a document takes about a microsecond. */
const documentSteps = 50

/** Overhead of a partition besides the bytes of its key and fields. */
const partitionBytes = 200

type Bounds = 'full' | 'partition' | { readonly lower: Value; readonly upper: Value }

interface Densifying {
  readonly path: readonly string[]
  readonly partitionPaths: readonly (readonly string[])[]
  readonly step: NumericValue
  readonly unit: Unit | undefined
  readonly bounds: Bounds
  readonly collation: Collation | undefined
}

interface Partition {
  /** The fields of documents that are added. */
  readonly fields: BsonDocument
  /** The next grid value. */
  next: Value
  /** The only document that the fields come from, if there is one. */
  origin: Origin | undefined
}

export const densifyStage: CompileStage = (spec, { scope }, name) => {
  const { collation } = scope.constants
  const given = stageArguments(stageDocument(spec, name, 'The'), name, {
    field: { type: 'string', isRequired: true },
    partitionByFields: { type: 'array' },
    range: { type: 'object', isRequired: true },
  })
  const range = stageArguments(given.range as BsonDocument, `${name}.range`, {
    step: { type: 'any', isRequired: true },
    bounds: { type: 'any', isRequired: true },
    unit: { type: 'string' },
  })
  const { step } = range
  if (!isNumeric(step) || !(compareNumbers(step, int32(0)) > 0)) {
    return refuse(5733401, 'The step parameter in a range statement must be a strictly positive numeric value')
  }
  const unit = unitOf(range.unit, step)
  const bounds = boundsOf(range.bounds!, step, unit)
  const partitions = stringsIn(given.partitionByFields, `${name}.partitionByFields`)
  const field = given.field?.type === bsonType.string ? given.field.value : ''
  const densifying: Densifying = {
    path: checkedPath(field),
    partitionPaths: partitions.map(checkedPath),
    step,
    unit,
    bounds,
    collation,
  }
  if (bounds === 'partition' && partitions.length === 0) {
    refuse(
      5733408,
      "One cannot specify the bounds as 'partition' without specifying a non-empty array of partitionByFields. You " +
        "may have meant to specify 'full' bounds.",
    )
  }
  if (partitions.some(path => path === field || field.startsWith(`${path}.`))) {
    refuse(8993000, `The field '${field}' or a part of it cannot be in partitionByFields of $densify`)
  }
  const order = [...(bounds === 'full' ? [] : new Set(partitions)), field]
  const sort = compileSort(BsonDocument.of(order.map(path => [path, int32(1)])), collation)
  return {
    name,
    run: (input, run) => densified(sorted(input, sort, Number.POSITIVE_INFINITY, run.slice), densifying, run),
  }
}

function unitOf(spec: Value | undefined, step: NumericValue): Unit | undefined {
  if (spec?.type !== bsonType.string) return undefined
  if (int64Of(step) === undefined) {
    refuse(6586400, 'The step parameter in a range statement must be a whole number when densifying a date range')
  }
  return isUnit(spec.value) ? spec.value : refuse(9, `unknown time unit value: ${spec.value}`)
}

function boundsOf(spec: Value, step: NumericValue, unit: Unit | undefined): Bounds {
  if (spec.type === bsonType.string) {
    if (spec.value === 'full' || spec.value === 'partition') return spec.value
    return refuse(5946802, "Bounds string must either be 'full' or 'partition'")
  }
  if (spec.type !== bsonType.array) {
    return refuse(
      5733404,
      "The bounds in a range statement must be the string 'full', 'partition', or an ascending array of two numbers " +
        'or two dates',
    )
  }
  const [lower, upper] = spec.elements
  if (spec.elements.length !== 2) {
    refuse(5733403, 'A bounding array in a range statement must have exactly two elements')
  }
  if (compareValues(lower, upper) > 0) {
    refuse(5733402, 'A bounding array must be an ascending array of either two dates or two numbers')
  }
  const problem = 'A bounding array must contain either both dates or both numeric types'
  if (isNumeric(lower)) {
    if (unit !== undefined) refuse(5733409, 'Numeric bounds may not have unit parameter')
    if (!isNumeric(upper)) return refuse(5733406, problem)
    if (lower.type !== upper.type || lower.type !== step.type) {
      refuse(5876900, 'Upper bound, lower bound, and step must all have the same type')
    }
    return { lower, upper }
  }
  if (lower!.type !== bsonType.date) return refuse(5946800, 'Explicit bounds must be numeric or dates')
  if (upper!.type !== bsonType.date) return refuse(5733405, problem)
  if (unit === undefined) refuse(5733410, 'A bounding array of dates must specify a unit')
  return { lower: lower!, upper: upper! }
}

async function* densified(input: Stream, densifying: Densifying, { slice }: Run): AsyncGenerator<BsonDocument[]> {
  const densifier = new Densifier(densifying)
  let batch: BsonDocument[] = []
  for await (const documents of input) {
    for (const document of documents) {
      for (const made of densifier.take(document)) {
        batch.push(made)
        if (slice.isOver) await slice.turn()
        if (batch.length < largeBatchDocumentsMax) continue
        yield batch
        batch = []
      }
    }
  }
  for (const made of densifier.end()) {
    batch.push(made)
    if (slice.isOver) await slice.turn()
    if (batch.length < largeBatchDocumentsMax) continue
    yield batch
    batch = []
  }
  if (batch.length > 0) yield batch
}

class Densifier {
  readonly #of: Densifying
  readonly #partitions = new Map<string, Partition>()
  readonly #memory = new Memory(refuseDensifyMemory)
  /** The lowest and the highest value of all documents. */
  #least: Value | undefined
  #greatest: Value | undefined
  #generated = 0

  constructor(densifying: Densifying) {
    this.#of = densifying
  }

  /** The documents to be added before this one, and the document itself. */
  *take(document: BsonDocument): Generator<BsonDocument> {
    const { path, unit, bounds } = this.#of
    const value = atPath(document, path)
    if (isNullish(value)) {
      yield document
      return
    }
    checkValue(value, unit)
    this.#least ??= value
    this.#greatest = value
    const partition = this.#partitionOf(document, value)
    partition.origin = onlyOrigin(partition.origin, document.origin)
    const isExplicit = typeof bounds === 'object'
    const end = isExplicit && compareValues(bounds.upper, value) < 0 ? bounds.upper : value
    yield* this.#generate(partition, end)
    if (compareValues(partition.next, value) === 0) partition.next = this.#after(value)
    yield document
  }

  /** The documents to be added after the last one. */
  *end(): Generator<BsonDocument> {
    const { bounds, partitionPaths } = this.#of
    if (bounds === 'partition') return
    if (typeof bounds === 'object') {
      if (partitionPaths.length === 0) this.#partitionOf(nothing, bounds.lower)
      for (const partition of this.#partitions.values()) {
        yield* this.#generate(partition, bounds.upper)
      }
      return
    }
    for (const partition of this.#partitions.values()) {
      yield* this.#generate(partition, this.#greatest!, true)
    }
  }

  *#generate(partition: Partition, end: Value, includesEnd = false): Generator<BsonDocument> {
    const most = includesEnd ? 0 : -1
    if (compareValues(partition.next, end) > most) return
    // Counts the work of a large gap before it is done, so that it is done in a thread that has the time.
    spend(documentSteps * Math.min(generatedDocumentsMax, this.#countTo(partition.next, end)))
    while (compareValues(partition.next, end) <= most) {
      this.#generated += 1
      if (this.#generated > generatedDocumentsMax) {
        refuse(
          5897900,
          `Generated ${this.#generated} documents in $densify, which is over the limit of ${generatedDocumentsMax}. ` +
            "Increase the 'internalQueryMaxAllowedDensifyDocs' parameter to allow more generated documents",
        )
      }
      const made = withPath(partition.fields, this.#of.path, partition.next)
      yield partition.fields.isEmpty ? made : withOrigin(made, partition.origin)
      partition.next = this.#after(partition.next)
    }
  }

  /** About how many steps there are between two values. */
  #countTo(from: Value, end: Value): number {
    const [first, second, last] = [from, this.#after(from), end].map(placeOf) as [number, number, number]
    return last > first ? (last - first) / (second - first) : 0
  }

  #after(value: Value): Value {
    const { step, unit } = this.#of
    if (value.type === bsonType.date) return date(addToDate(value.value, unit!, int64Of(step)!, utc))
    return add(value as NumericValue, step)
  }

  #partitionOf(document: BsonDocument, value: Value): Partition {
    const { partitionPaths, bounds, path, collation } = this.#of
    let fields = nothing
    for (const each of partitionPaths) fields = withPath(fields, each, atPath(document, each))
    const identity = partitionPaths.length === 0 ? '' : valueIdentity(fields, collation)
    const known = this.#partitions.get(identity)
    if (known !== undefined) return known
    checkRoom(fields, path)
    this.#memory.add(partitionBytes + 2 * identity.length)
    const start = typeof bounds === 'object' ? bounds.lower : bounds === 'full' ? this.#least! : value
    const partition = { fields, next: start, origin: document.origin }
    this.#partitions.set(identity, partition)
    return partition
  }
}

const nothing = BsonDocument.of([])

function placeOf(value: Value): number {
  return value.type === bsonType.date ? Number(value.value) : isNumeric(value) ? toDouble(value) : 0
}

function checkValue(value: Value, unit: Unit | undefined): void {
  if (!isNumeric(value) && value.type !== bsonType.date) {
    refuse(5733201, 'Densify field type must be numeric or a date')
  }
  if (value.type === bsonType.date && unit === undefined) {
    refuse(6053600, 'Encountered a date value in the densify field, but no unit was specified')
  }
  if (isNumeric(value) && unit !== undefined) {
    refuse(6053601, 'Encountered a numeric value in the densify field, but a unit was specified')
  }
}

/** The field that is added must not replace a value of the partition's fields. */
function checkRoom(fields: BsonDocument, path: readonly string[]): void {
  let value: Value | undefined = fields
  for (const name of path) {
    value = value?.type === bsonType.document ? value.get(name) : undefined
    if (value?.type === bsonType.array) refuse(5733307, '$densify cannot generate fields nested inside arrays')
    if (value === undefined) return
    if (value.type !== bsonType.document) {
      refuse(5733308, '$densify cannot overwrite non-object values with objects')
    }
  }
}
