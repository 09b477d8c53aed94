/** Parses filter documents into syntax trees (filter.ts). */

import { KiB } from '../../base/limits.ts'
import { currentWatch, StepWatch, spend, watched } from '../../base/work.ts'
import { bsonType } from '../../document/bson/types.ts'
import { BsonDocument, type Value, valueAt } from '../../document/bson/value.ts'
import { ElementCursor, endOfValue } from '../../document/bson/view.ts'
import { badValue, MongoError } from '../errors/mongo-error.ts'
import { equalTo, type Filter, type FilterContext, isOperatorDocument } from './filter.ts'
import { parseConditions } from './filter-operators.ts'
import { parseSchema } from './parse-schema.ts'

/** Parsing a condition takes up to a microsecond, a value of a list a tenth of that. */
const fieldSteps = 50

/**
 * Most steps for parsing a filter: 20 milliseconds, for 20,000 conditions or 150,000 values in lists. The
 * thread of the requests gives up earlier, and lets another thread do it (`mongo/service/query-language.ts`).
 */
const filterStepsMax = 1_000_000

/** A filter of fewer bytes cannot take so many steps. */
const countedBytesMin = 64 * KiB

/** Parses a filter, or throws with MongoDB's text. Recurses as deep as documents nest. */
export function parseFilter(
  filter: BsonDocument,
  context: FilterContext = { isWholeDocument: true, allowsNear: false },
): Filter {
  const { raw } = filter
  if (raw !== undefined && raw.end - raw.start < countedBytesMin) return parseParts(filter, context)
  return watched(new StepWatch(filterStepsMax, tooLarge, currentWatch()), () => parseParts(filter, context))
}

/** Only terms up to this size are parsed at once, and only so many of them. */
const termBytesMax = 4 * KiB
const termsMax = 100

/**
 * Parses the small terms of a valid filter that takes long to parse, so that they can choose an index. The
 * other terms are parsed when the first document is tested.
 */
export function parseSmallTerms(filter: BsonDocument, context: FilterContext): Filter {
  const { bytes, start } = filter.raw!
  const of: Filter[] = []
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    if (of.length === termsMax) {
      of.push({ kind: 'later', spec: filter, context })
      break
    }
    const spec = BsonDocument.of([[cursor.name(), valueAt(bytes, cursor.type, cursor.valueStart)]])
    const isSmall = endOfValue(bytes, cursor.type, cursor.valueStart) - cursor.valueStart <= termBytesMax
    of.push(isSmall ? parseParts(spec, context) : { kind: 'later', spec, context })
  }
  return { kind: 'and', of }
}

/** Parses a filter that was left for later. It was parsed once before, so it is not too large. */
export function parseLater({ spec, context }: Extract<Filter, { kind: 'later' }>): Filter {
  return parseParts(spec, context)
}

function tooLarge(): MongoError {
  return badValue('The filter has too many conditions or values. Send it in several parts.')
}

function parseParts(filter: BsonDocument, context: FilterContext): Filter {
  const filters: Filter[] = []
  for (const [name, value] of filter.fields) {
    spend(fieldSteps)
    const parsed = name.startsWith('$') ? parseOperator(name, value, context) : parseField(name, value, context)
    if (parsed !== undefined) filters.push(parsed)
  }
  return filters.length === 1 ? filters[0]! : { kind: 'and', of: filters }
}

function parseField(path: string, value: Value, context: FilterContext): Filter {
  const conditions = isOperatorDocument(value) ? parseConditions(value, path, context, parseParts) : [equalTo(value)]
  const fields = conditions.map(condition => ({ kind: 'field', path, condition }) as const)
  return fields.length === 1 ? fields[0]! : { kind: 'and', of: fields }
}

type OperatorParser = (name: string, value: Value, context: FilterContext) => Filter | undefined

const list: OperatorParser = (name, value, context) => {
  if (value.type !== bsonType.array) throw badValue(`${name} must be an array`)
  if (value.elements.length === 0) throw badValue('$and/$or/$nor must be a nonempty array')
  const of = value.elements.map(element => {
    if (element.type !== bsonType.document) throw badValue('$or/$and/$nor entries need to be full objects')
    return parseParts(element, context)
  })
  return { kind: name.slice(1) as 'and' | 'or' | 'nor', of }
}

const reference: OperatorParser = (path, value) => ({ kind: 'field', path, condition: equalTo(value) })

const always: OperatorParser = name => ({ kind: 'always', holds: name === '$alwaysTrue' })

function refused(error: MongoError): OperatorParser {
  return () => {
    throw error
  }
}

/** Operators that MongoDB knows and we do not support. */
export const unsupportedFilterOperators: Readonly<Record<string, OperatorParser>> = {
  $where: refused(badValue('$where is not allowed in this context')),
  $text: refused(new MongoError(27, 'text index required for $text query')),
}

/** Must have the same names as `filterOperators`. */
const operators: Readonly<Record<string, OperatorParser>> = {
  $and: list,
  $or: list,
  $nor: list,
  $comment: () => undefined,
  $expr: (_, spec, { isWholeDocument }) => {
    if (!isWholeDocument) throw badValue('$expr can only be applied to the top-level document')
    return { kind: 'expression', spec }
  },
  $alwaysTrue: always,
  $alwaysFalse: always,
  $jsonSchema: (_, value) => ({ kind: 'schema', schema: parseSchema(value) }),
  $ref: reference,
  $id: reference,
  $db: reference,
  ...unsupportedFilterOperators,
}

function parseOperator(name: string, value: Value, context: FilterContext): Filter | undefined {
  const parser = Object.hasOwn(operators, name) ? operators[name] : undefined
  if (parser !== undefined) return parser(name, value, context)
  throw badValue(
    `unknown top level operator: ${name}. If you have a field name that starts with a '$' symbol, consider ` +
      `using $getField or $setField.`,
  )
}
