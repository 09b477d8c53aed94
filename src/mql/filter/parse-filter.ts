/** Parses filter documents. */

import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument, Value } from '../../document/bson/value.ts'
import { badValue, MongoError } from '../errors/mongo-error.ts'
import { equalTo, type Filter, type FilterContext, isOperatorDocument } from './filter.ts'
import { parseConditions } from './filter-operators.ts'
import { parseSchema } from './parse-schema.ts'

/** Parses a filter, or throws with MongoDB's text. Recurses as deep as documents nest. */
export function parseFilter(
  filter: BsonDocument,
  context: FilterContext = { isWholeDocument: true, allowsNear: false },
): Filter {
  const filters: Filter[] = []
  for (const [name, value] of filter.fields) {
    const parsed = name.startsWith('$') ? parseOperator(name, value, context) : parseField(name, value, context)
    if (parsed !== undefined) filters.push(parsed)
  }
  return filters.length === 1 ? filters[0]! : { kind: 'and', of: filters }
}

function parseField(path: string, value: Value, context: FilterContext): Filter {
  const conditions = isOperatorDocument(value) ? parseConditions(value, path, context, parseFilter) : [equalTo(value)]
  const fields = conditions.map(condition => ({ kind: 'field', path, condition }) as const)
  return fields.length === 1 ? fields[0]! : { kind: 'and', of: fields }
}

type OperatorParser = (name: string, value: Value, context: FilterContext) => Filter | undefined

const list: OperatorParser = (name, value, context) => {
  if (value.type !== bsonType.array) throw badValue(`${name} must be an array`)
  if (value.elements.length === 0) throw badValue('$and/$or/$nor must be a nonempty array')
  const of = value.elements.map(element => {
    if (element.type !== bsonType.document) throw badValue('$or/$and/$nor entries need to be full objects')
    return parseFilter(element, context)
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
