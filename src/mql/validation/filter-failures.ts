/**
 * Reports why a document does not match a filter, in MongoDB's form.
 *
 * The filter is read again, into clauses that know how they were written. A clause below a negation is
 * inverted: it reports why it does match.
 */

import { bsonType } from '../../document/bson/types.ts'
import { BsonArray, BsonDocument, type Field, int32, trueValue, type Value } from '../../document/bson/value.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { isTrue } from '../expressions/core/define-operator.ts'
import { isOperatorDocument } from '../filter/filter.ts'
import { compileFilter, type MatchOptions } from '../filter/match.ts'
import { isGeoOperator, shapeOf } from '../filter/parse-geo.ts'
import { parseSchema } from '../filter/parse-schema.ts'
import { considered } from './considered-values.ts'
import {
  annotationsOf,
  consideredTypes,
  consideredValues,
  errorFields,
  oneOrMore,
  operatorName,
  type ReportOptions,
  reason,
  report,
  specifiedAs,
} from './failure.ts'
import { schemaFailure } from './schema-failures.ts'

/** Computes the value of the expression in `$expr`. */
export type Compute = (spec: Value) => (document: Uint8Array) => Value | undefined

export interface ClauseOptions extends MatchOptions {
  readonly compute: Compute
}

interface Subject {
  readonly bytes: Uint8Array
  readonly document: BsonDocument
  readonly options: ReportOptions
}

interface Clause {
  readonly annotations: readonly Field[]
  matches(document: Uint8Array): boolean
  failure(subject: Subject, isInverted: boolean): BsonDocument
}

/** The reasons when a clause fails, and when it is inverted and matches. */
type Reasons = readonly [failed: string, matched: string]

/** Reports why a document does not match the filter. Call it only with such documents. */
export function failureReporter(
  filter: BsonDocument,
  options: ClauseOptions,
): (bytes: Uint8Array, options: ReportOptions) => BsonDocument {
  const clause = clauseOf(filter, options)
  return (bytes, reportOptions) =>
    clause.failure({ bytes, document: BsonDocument.view(bytes), options: reportOptions }, false)
}

/** Several clauses are joined by `$and`, even if that is not written. */
function clauseOf(filter: BsonDocument, options: ClauseOptions): Clause {
  const clauses = filter.fields.flatMap(([name, value]) =>
    name.startsWith('$') ? operatorClauses(name, value, options) : fieldClauses(name, value, options),
  )
  return clauses.length === 1 ? clauses[0]! : joined('$and', clauses)
}

function operatorClauses(name: string, value: Value, options: ClauseOptions): Clause[] {
  const written = BsonDocument.of([[name, value]])
  switch (name) {
    case '$and':
    case '$or':
    case '$nor': {
      const filters = (value as BsonArray).elements as readonly BsonDocument[]
      return [
        joined(
          name,
          filters.map(filter => clauseOf(filter, options)),
        ),
      ]
    }
    case '$comment':
      return []
    case '$expr':
      return [expressionClause(value, written, options)]
    case '$jsonSchema':
      return [schemaClause(value, written, options)]
    case '$alwaysTrue':
    case '$alwaysFalse':
      return [leaf(written, name, written, options, always)]
    default:
      return fieldClauses(name, value, options)
  }
}

/**
 * `$and`, `$or` and `$nor`. A report shows only the clauses that decide: of a failed `$and`, those that fail.
 */
function joined(name: '$and' | '$or' | '$nor', of: readonly Clause[]): Clause {
  const matching = {
    $and: (bytes: Uint8Array) => of.every(clause => clause.matches(bytes)),
    $or: (bytes: Uint8Array) => of.some(clause => clause.matches(bytes)),
    $nor: (bytes: Uint8Array) => !of.some(clause => clause.matches(bytes)),
  }
  return {
    annotations: [],
    matches: matching[name],
    failure: (subject, isInverted) => {
      const isInvertedWithin = name === '$nor' ? !isInverted : isInverted
      const isPart = name === '$or' ? isInverted : !isInverted
      const concerned = of
        .map((clause, index) => ({ clause, index }))
        .filter(({ clause }) => !isPart || isConcerned(clause, subject.bytes, isInvertedWithin))
      const reports = concerned.map(({ clause, index }) =>
        report(['index', int32(index)], clause.annotations, [['details', clause.failure(subject, isInvertedWithin)]]),
      )
      const list = isInvertedWithin ? 'clausesSatisfied' : 'clausesNotSatisfied'
      return report(operatorName(name), [[list, BsonArray.of(reports)]])
    },
  }
}

/** Whether a report shows the clause. A clause that cannot be computed is shown, too. */
function isConcerned(clause: Clause, bytes: Uint8Array, isInverted: boolean): boolean {
  try {
    return clause.matches(bytes) === isInverted
  } catch (error) {
    if (error instanceof MongoError) return true
    throw error
  }
}

function negated({ annotations, matches, failure }: Clause): Clause {
  return {
    annotations,
    matches: bytes => !matches(bytes),
    failure: (subject, isInverted) => failure(subject, !isInverted),
  }
}

function schemaClause(value: Value, written: BsonDocument, options: ClauseOptions): Clause {
  const schema = parseSchema(value)
  const { matches } = compileFilter(written, options)
  return {
    annotations: annotationsOf(schema.spec),
    matches,
    failure: ({ bytes, options: reportOptions }, isInverted) =>
      isInverted
        ? report(operatorName('$jsonSchema'), reason('schema matched'))
        : schemaFailure(schema, { bytes, type: bsonType.document, start: 0 }, reportOptions),
  }
}

function expressionClause(spec: Value, written: BsonDocument, options: ClauseOptions): Clause {
  const evaluate = options.compute(spec)
  return {
    annotations: [],
    matches: bytes => isTrue(evaluate(bytes)),
    failure: ({ bytes, options: reportOptions }, isInverted) => {
      const start = [operatorName('$expr'), ...specifiedAs(written, reportOptions)]
      try {
        const result = evaluate(bytes)
        const shown: Field[] = result === undefined ? [] : [['expressionResult', result]]
        return report(start, reason(isInverted ? 'expression did match' : 'expression did not match'), shown)
      } catch (error) {
        if (!(error instanceof MongoError)) throw error
        return report(start, reason('failed to evaluate aggregation expression'), [['details', errorFields(error)]])
      }
    },
  }
}

/** Reports the values that the clause looks at. */
type Describe = (subject: Subject, isInverted: boolean) => readonly Field[]

function leaf(
  filter: BsonDocument,
  name: string,
  written: BsonDocument,
  options: ClauseOptions,
  describe: Describe,
): Clause {
  const { matches } = compileFilter(filter, options)
  return {
    annotations: [],
    matches,
    failure: (subject, isInverted) =>
      report(operatorName(name), specifiedAs(written, subject.options), describe(subject, isInverted)),
  }
}

function chosen([failed, matched]: Reasons, isInverted: boolean): Field {
  return reason(isInverted ? matched : failed)
}

const always: Describe = (_, isInverted) => [
  chosen(['expression always evaluates to false', 'expression always evaluates to true'], isInverted),
]

function fieldClauses(path: string, value: Value, options: ClauseOptions): Clause[] {
  const whole = BsonDocument.of([[path, value]])
  if (!isOperatorDocument(value)) {
    const name = value.type === bsonType.regex ? '$regex' : '$eq'
    return [leaf(whole, name, whole, options, describeAs(name, path, value))]
  }
  const [first] = value.fields
  // The options of a geographic operator stand beside it.
  if (first !== undefined && isGeoOperator(first[0]))
    return [leaf(whole, first[0], whole, options, geo(path, first[0]))]
  return value.fields.flatMap(([name, operand]) => conditionClauses(path, name, operand, value, options))
}

function conditionClauses(
  path: string,
  name: string,
  operand: Value,
  siblings: BsonDocument,
  options: ClauseOptions,
): Clause[] {
  const under = (operator: string, value: Value) => BsonDocument.of([[path, BsonDocument.of([[operator, value]])]])
  const written = under(name, operand)
  const positive = (operator: string, value: Value) =>
    leaf(under(operator, value), name, written, options, describeAs(operator, path, value))
  switch (name) {
    case '$options':
      return []
    case '$regex': {
      const whole = BsonDocument.of([[path, siblings]])
      const only = BsonDocument.of(siblings.fields.filter(([each]) => each === '$regex' || each === '$options'))
      return [leaf(BsonDocument.of([[path, only]]), name, whole, options, describeAs(name, path, operand))]
    }
    case '$ne':
      return [negated(positive('$eq', operand))]
    case '$nin':
      return [negated(positive('$in', operand))]
    case '$exists':
      return [isTrue(operand) ? positive(name, operand) : negated(positive(name, trueValue))]
    case '$not':
      return [notClause(path, operand, options)]
    default:
      return [positive(name, operand)]
  }
}

function notClause(path: string, operand: Value, options: ClauseOptions): Clause {
  const clauses = fieldClauses(path, operand, options)
  const inner = clauses.length === 1 ? clauses[0]! : joined('$and', clauses)
  return {
    annotations: [],
    matches: bytes => !inner.matches(bytes),
    failure: (subject, isInverted) => report(operatorName('$not'), [['details', inner.failure(subject, !isInverted)]]),
  }
}

interface Looking {
  readonly reasons: Reasons
  /** Only values of these types can match. */
  readonly types?: readonly string[]
  readonly entersLastArray?: boolean
}

const numbers = ['decimal', 'double', 'int', 'long']

const comparison: Looking = { reasons: ['comparison failed', 'comparison succeeded'] }
const listed: Looking = { reasons: ['no matching value found in array', 'matching value found in array'] }
const bits: Looking = {
  reasons: ['bitwise operator failed to match', 'bitwise operator matched successfully'],
  types: ['binData', ...numbers],
}

const lookings: Readonly<Record<string, Looking>> = {
  $eq: comparison,
  $lt: comparison,
  $lte: comparison,
  $gt: comparison,
  $gte: comparison,
  $in: listed,
  $regex: {
    reasons: ['regular expression did not match', 'regular expression did match'],
    types: ['regex', 'string', 'symbol'],
  },
  $mod: {
    reasons: ['$mod did not evaluate to expected remainder', '$mod did evaluate to expected remainder'],
    types: numbers,
  },
  $size: {
    reasons: ['array length was not equal to given size', 'array length was equal to given size'],
    types: ['array'],
    entersLastArray: false,
  },
  $elemMatch: {
    reasons: ['array did not satisfy the child predicate', 'array did satisfy the child predicate'],
    types: ['array'],
    entersLastArray: false,
  },
  $all: {
    reasons: ['array did not contain all specified values', 'array did contain all specified values'],
    entersLastArray: false,
  },
  $bitsAllSet: bits,
  $bitsAllClear: bits,
  $bitsAnySet: bits,
  $bitsAnyClear: bits,
}

function describeAs(name: string, path: string, operand: Value): Describe {
  if (name === '$exists') {
    return (_, isInverted) => [chosen(['path does not exist', 'path does exist'], isInverted)]
  }
  if (name === '$type') return typeOf(path)
  // `$all` of nothing matches nothing.
  if (name === '$all' && operand.type === bsonType.array && operand.elements.length === 0) return always
  const { reasons, types, entersLastArray = true } = lookings[name] ?? comparison
  return ({ document, options }, isInverted) => {
    const { values, isCut } = considered(document, path, entersLastArray)
    if (values === undefined) return [reason('field was missing')]
    const seen = consideredTypes(values)
    const isWrong = types !== undefined && !values.some(value => types.some(type => hasType(value, type)))
    return [
      ...(isWrong ? [reason('type did not match'), ...seen, ...oneOrMore('expectedType', types)] : []),
      ...(isWrong ? [] : [chosen(reasons, isInverted)]),
      ...shown(values, isCut, options),
    ]
  }
}

function hasType(value: Value, type: string): boolean {
  const [shownType] = consideredTypes([value])
  return shownType?.[1].type === bsonType.string && shownType[1].value === type
}

function shown(values: readonly Value[], isCut: boolean, options: ReportOptions): Field[] {
  const fields = consideredValues(values, options)
  return fields.length > 0 && isCut ? [...fields, ['consideredValuesTruncated', trueValue]] : fields
}

function typeOf(path: string): Describe {
  return ({ document, options }, isInverted) => {
    const { values, isCut } = considered(document, path, true)
    if (values === undefined) return [reason('field was missing')]
    const why = chosen(['type did not match', 'type did match'], isInverted)
    return [why, ...shown(values, isCut, options), ...consideredTypes(values)]
  }
}

const within: Reasons = [
  'none of the considered geometries were contained within the expression’s geometry',
  'at least one of considered geometries was contained within the expression’s geometry',
]
const intersecting: Reasons = [
  'none of the considered geometries intersected the expression’s geometry',
  'at least one of considered geometries intersected the expression’s geometry',
]

function geo(path: string, name: string): Describe {
  const reasons = name === '$geoIntersects' ? intersecting : within
  return ({ document, options }, isInverted) => {
    const { values, isCut } = considered(document, path, true)
    if (values === undefined) return [reason('field was missing')]
    const own = document.get(path)
    const hasShape = [...values, ...(own === undefined ? [] : [own])].some(value => shapeOf(value) !== undefined)
    return [
      hasShape ? chosen(reasons, isInverted) : reason('could not find a valid geometry at the given path'),
      ...shown(values, isCut, options),
    ]
  }
}
