/** `$push`: inserts elements into an array, then sorts and truncates it. */

import { exactInteger, isNumeric, toDouble } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { type BsonDocument, nullValue, type Value } from '../../document/bson/value.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { arrayOf } from './array-modifiers.ts'
import {
  compareRaw,
  elementsOf,
  fieldAt,
  isDocumentOrArray,
  isSame,
  type ModifierFactory,
  printIdField,
  type RawValue,
  rawValue,
} from './modifier.ts'

type Comparison = (left: RawValue, right: RawValue) => number

interface Push {
  readonly values: readonly RawValue[]
  readonly position: number | undefined
  readonly slice: number | undefined
  readonly compare: Comparison | undefined
}

export const push: ModifierFactory = (operand, _, collation) => {
  const spec = parsePush(operand, collation)
  const whole = arrayOf(pushed(spec, []))
  return {
    whenMissing: 'create',
    create: () => whole,
    change: (current, site) => {
      if (current.type !== bsonType.array) {
        throw new MongoError(
          2,
          `The field '${site.path()}' must be an array but is of type ${typeName(current.type)} in document ` +
            `{${printIdField(site.document)}}`,
        )
      }
      const array = arrayOf(pushed(spec, elementsOf(current)))
      return isSame(array, current) ? undefined : array
    },
  }
}

function pushed({ values, position, slice, compare }: Push, present: readonly RawValue[]): readonly RawValue[] {
  // Like slice: a negative position counts from the end, and one beyond either end means that end.
  const at = position ?? present.length
  const elements = [...present.slice(0, at), ...values, ...present.slice(at)]
  if (compare !== undefined) elements.sort(compare)
  if (slice === undefined || Math.abs(slice) >= elements.length) return elements
  return slice >= 0 ? elements.slice(0, slice) : elements.slice(slice)
}

function parsePush(operand: Value, collation: Collation | undefined): Push {
  const plain = { position: undefined, slice: undefined, compare: undefined }
  if (operand.type !== bsonType.document || operand.get('$each') === undefined) {
    return { ...plain, values: [rawValue(operand)] }
  }
  const clauses = new Map<string, Value>()
  for (const [name, value] of operand.fields) {
    if (!clauseNames.has(name)) throw new MongoError(2, `Unrecognized clause in $push: ${name}`)
    if (clauses.has(name)) throw new MongoError(2, `Only one ${name} is supported.`)
    clauses.set(name, value)
  }
  const each = clauses.get('$each')!
  if (each.type !== bsonType.array) {
    throw new MongoError(
      2,
      `The argument to $each in $push must be an array but it was of type: ${typeName(each.type)}`,
    )
  }
  const sort = clauses.get('$sort')
  return {
    values: elementsOf(rawValue(each)),
    slice: wholeNumber(clauses.get('$slice'), type => {
      return `The value for $slice must be an integer value but was given type: ${type}`
    }),
    position: wholeNumber(clauses.get('$position'), type => {
      return `The value for $position must be an integer value, not of type: ${type}`
    }),
    compare: sort === undefined ? undefined : parseSort(sort, collation),
  }
}

const clauseNames: ReadonlySet<string> = new Set(['$each', '$slice', '$sort', '$position'])

function wholeNumber(value: Value | undefined, refusal: (type: string) => string): number | undefined {
  if (value === undefined) return undefined
  const whole = isNumeric(value) ? exactInteger(value) : undefined
  if (whole === undefined) throw new MongoError(2, refusal(typeName(value.type)))
  // Arrays are never so long that the lost precision matters.
  return Number(whole)
}

function parseSort(sort: Value, collation: Collation | undefined): Comparison {
  if (sort.type === bsonType.document) return parseSortPattern(sort, collation)
  if (!isNumeric(sort)) {
    throw new MongoError(
      2,
      'The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort embedded fields',
    )
  }
  const direction = directionOf(sort)
  if (direction === 0) throw new MongoError(2, 'The $sort element value must be either 1 or -1')
  return (left, right) => direction * compareRaw(left, right, collation)
}

function directionOf(value: Value): number {
  const direction = isNumeric(value) ? toDouble(value) : 0
  return direction === 1 || direction === -1 ? direction : 0
}

function parseSortPattern(pattern: BsonDocument, collation: Collation | undefined): Comparison {
  if (pattern.isEmpty) throw new MongoError(2, 'The sort pattern is empty when it should be a set of fields.')
  const keys = pattern.fields.map(([path, value]) => {
    const direction = directionOf(value)
    if (direction === 0) throw new MongoError(2, 'The sort element value must be either 1 or -1')
    if (path === '') throw new MongoError(2, 'The sort field cannot be empty')
    const parts = path.split('.')
    if (parts.includes('')) {
      throw new MongoError(2, `The sort field is a dotted field but has an empty part: ${path}`)
    }
    return { direction, parts: parts.map(part => Buffer.from(part)) }
  })
  return (left, right) => {
    for (const { direction, parts } of keys) {
      const difference = compareRaw(keyOf(left, parts), keyOf(right, parts), collation)
      if (difference !== 0) return direction * difference
    }
    return 0
  }
}

const nullRaw = rawValue(nullValue)

/** The value at a path of an element, or null if there is none. The path enters an array only by an index. */
function keyOf(element: RawValue, parts: readonly Uint8Array[]): RawValue {
  let current: RawValue | undefined = element.type === bsonType.document ? element : undefined
  for (const part of parts) {
    if (current === undefined || !isDocumentOrArray(current.type)) return nullRaw
    current = fieldAt(current.bytes, current.start, part)
  }
  return current ?? nullRaw
}
