/** The update operators that add elements to arrays or remove them, except `$push`. */

import { exactInteger, isNaNValue, isNumeric } from '../../document/bson/number.ts'
import { bsonType, typeName } from '../../document/bson/types.ts'
import { BsonDocument, type Value } from '../../document/bson/value.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { BsonWriter } from '../../document/bson/writer.ts'
import type { Collation } from '../../document/collation/collation.ts'
import { MongoError } from '../errors/mongo-error.ts'
import { filterOperators } from '../filter/filter.ts'
import { compileElementFilter, compileFilter } from '../filter/match.ts'
import {
  compareRaw,
  elementsOf,
  type Modifier,
  type ModifierFactory,
  printOperandField,
  printRawValue,
  type RawValue,
  rawValue,
  valueUnder,
} from './modifier.ts'

/** Encodes the values as an array. */
export function arrayOf(elements: readonly RawValue[]): RawValue {
  const writer = new BsonWriter()
  const opened = writer.open()
  for (const [index, { type, bytes, start, end }] of elements.entries()) {
    writer.name(type, String(index))
    writer.raw(bytes, start, end)
  }
  writer.close(opened)
  const bytes = writer.bytes()
  return { type: bsonType.array, bytes, start: 0, end: bytes.length }
}

/** Distinct values in sorted order, for fast lookup. */
class SortedValues {
  readonly #sorted: readonly RawValue[]
  readonly #collation: Collation | undefined

  constructor(values: readonly RawValue[], collation: Collation | undefined) {
    this.#collation = collation
    // Of equal values, the first is kept; the sort is stable.
    this.#sorted = values
      .toSorted((left, right) => compareRaw(left, right, collation))
      .filter((value, index, sorted) => index === 0 || compareRaw(sorted[index - 1]!, value, collation) !== 0)
  }

  get size(): number {
    return this.#sorted.length
  }

  /** Finds the value that equals the given one. */
  find(value: RawValue): RawValue | undefined {
    let low = 0
    let high = this.#sorted.length - 1
    while (low <= high) {
      const middle = (low + high) >> 1
      const candidate = this.#sorted[middle]!
      const difference = compareRaw(candidate, value, this.#collation)
      if (difference === 0) return candidate
      if (difference < 0) low = middle + 1
      else high = middle - 1
    }
    return undefined
  }
}

export const addToSet: ModifierFactory = (operand, _, collation) => {
  const given = valuesToAdd(operand)
  const different = new SortedValues(given, collation)
  const values = given.filter(value => different.find(value) === value)
  const whole = arrayOf(values)
  return {
    whenMissing: 'create',
    create: () => whole,
    change: (current, site) => {
      if (current.type !== bsonType.array) {
        const field = site.path().split('.').at(-1)
        throw new MongoError(
          2,
          `Cannot apply $addToSet to non-array field. Field named '${field}' has non-array type ` +
            `${typeName(current.type)}`,
        )
      }
      const present = new Set<RawValue>()
      const elements = elementsOf(current)
      for (const element of elements) {
        const equal = different.find(element)
        if (equal !== undefined) present.add(equal)
        if (present.size === different.size) return undefined
      }
      const added = values.filter(value => !present.has(value))
      return added.length === 0 ? undefined : arrayOf([...elements, ...added])
    },
  }
}

function valuesToAdd(operand: Value): readonly RawValue[] {
  const [first] = operand.type === bsonType.document ? operand.fields : []
  if (first?.[0] !== '$each') return [rawValue(operand)]
  const [, list] = first
  if (list.type !== bsonType.array) {
    throw new MongoError(
      14,
      `The argument to $each in $addToSet must be an array but it was of type ${typeName(list.type)}`,
    )
  }
  const spec = operand as BsonDocument
  if (spec.fields.length > 1) {
    throw new MongoError(2, `Found unexpected fields after $each in $addToSet: ${printRawValue(rawValue(spec))}`)
  }
  return elementsOf(rawValue(list))
}

export const pop: ModifierFactory = (operand, path) => {
  const isFirst = endToPop(operand, path) === -1n
  return {
    whenMissing: 'traverse',
    create: () => undefined,
    change: (current, site) => {
      if (current.type !== bsonType.array) {
        throw new MongoError(
          14,
          `Path '${site.path()}' contains an element of non-array type '${typeName(current.type)}'`,
        )
      }
      const elements = elementsOf(current)
      if (elements.length === 0) return undefined
      return arrayOf(isFirst ? elements.slice(1) : elements.slice(0, -1))
    },
  }
}

function endToPop(operand: Value, path: string): bigint {
  const element = printOperandField(path, operand)
  if (!isNumeric(operand)) throw new MongoError(9, `Expected a number in: ${element}`)
  if (isNaNValue(operand)) throw new MongoError(9, `Expected an integer, but found NaN in: ${element}`)
  const end = exactInteger(operand)
  if (end === undefined) throw new MongoError(9, `Expected an integer: ${element}`)
  if (end !== 1n && end !== -1n) throw new MongoError(9, `$pop expects 1 or -1, found: ${end}`)
  return end
}

/** Removes the elements that meet a test. */
function removingWhere(isUnwanted: (element: RawValue) => boolean): Modifier {
  return {
    whenMissing: 'traverse',
    create: () => undefined,
    change: current => {
      if (current.type !== bsonType.array) throw new MongoError(2, 'Cannot apply $pull to a non-array value')
      const kept: RawValue[] = []
      let isCulled = false
      const cursor = new ElementCursor(current.bytes, current.start)
      while (cursor.next()) {
        const element = valueUnder(cursor)
        if (isUnwanted(element)) isCulled = true
        else kept.push(element)
      }
      return isCulled ? arrayOf(kept) : undefined
    },
  }
}

export const pullAll: ModifierFactory = (operand, _, collation) => {
  if (operand.type !== bsonType.array) {
    throw new MongoError(2, `$pullAll requires an array argument but was given a ${typeName(operand.type)}`)
  }
  const unwanted = new SortedValues(elementsOf(rawValue(operand)), collation)
  return removingWhere(element => unwanted.find(element) !== undefined)
}

/**
 * `$pull`. A document without operators filters elements that are documents. Operators and patterns test any
 * element. Any other operand removes the elements that equal it.
 */
export const pull: ModifierFactory = (operand, _, collation) => {
  if (operand.type === bsonType.document && !beginsWithCondition(operand)) {
    const matcher = compileFilter(operand, { collation })
    return removingWhere(
      ({ type, bytes, start, end }) => type === bsonType.document && matcher.matches(bytes.subarray(start, end)),
    )
  }
  if (operand.type === bsonType.document || operand.type === bsonType.regex) {
    const test = compileElementFilter(BsonDocument.of([['element', operand]]), 'element', { collation })
    return removingWhere(({ bytes, type, start }) => test(bytes, type, start))
  }
  const value = rawValue(operand)
  return removingWhere(element => compareRaw(element, value, collation) === 0)
}

function beginsWithCondition({ fields }: BsonDocument): boolean {
  const name = fields[0]?.[0] ?? ''
  return name.startsWith('$') && !filterOperators.has(name)
}
