/** Compares filters with a second, simple matcher that decodes documents and follows the documented rules. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { compareValues } from '../../src/document/bson/compare.ts'
import { exactInteger, isNaNValue, isNumeric, truncatedInteger } from '../../src/document/bson/number.ts'
import { bsonType, rankOf } from '../../src/document/bson/types.ts'
import { validateDocument } from '../../src/document/bson/validate.ts'
import { BsonArray, BsonDocument, type Field, int32, string, type Value } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { demandsOf } from '../../src/mql/demands.ts'
import { MongoError } from '../../src/mql/errors/mongo-error.ts'
import { printDocument } from '../../src/mql/errors/print.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { compileSort } from '../../src/mql/paths/sort-order.ts'
import { compileProjection } from '../../src/mql/projection/projection.ts'
import { RandomBson } from '../support/random-bson.ts'
import { RandomFilter } from '../support/random-filter.ts'

/** A value at a path. `isEntered`: if it is an array, its elements count as well. */
interface Found {
  readonly value: Value | undefined
  readonly isEntered: boolean
}

function inDocument(document: { readonly fields: readonly Field[] }, path: readonly string[]): Found[] {
  const value = document.fields.find(([name]) => name === path[0])?.[1]
  const rest = path.slice(1)
  if (rest.length === 0 || value === undefined) return [{ value, isEntered: true }]
  if (value.type === bsonType.array) return inArray(value, rest)
  return value.type === bsonType.document ? inDocument(value, rest) : [{ value: undefined, isEntered: true }]
}

function inArray({ elements }: BsonArray, path: readonly string[]): Found[] {
  return elements.flatMap((element, index) => {
    const found: Found[] = element.type === bsonType.document ? inDocument(element, path) : []
    if (path[0] !== String(index)) return found
    if (path.length === 1) return [...found, { value: element, isEntered: false }]
    if (element.type === bsonType.document) return [...found, ...inDocument(element, path.slice(1))]
    return element.type === bsonType.array ? [...found, ...inArray(element, path.slice(1))] : found
  })
}

function candidates(document: BsonDocument, path: string, entersLast: boolean): (Value | undefined)[] {
  return inDocument(document, path.split('.')).flatMap(({ value, isEntered }) => {
    return isEntered && entersLast && value?.type === bsonType.array ? [...value.elements, value] : [value]
  })
}

function naiveMatch(filter: BsonDocument, document: BsonDocument): boolean {
  return filter.fields.every(([name, value]) => {
    const parts = () => (value as BsonArray).elements.map(each => naiveMatch(each as BsonDocument, document))
    if (name === '$and') return parts().every(Boolean)
    if (name === '$or') return parts().some(Boolean)
    if (name === '$nor') return !parts().some(Boolean)
    return naiveField(document, name, value)
  })
}

function isOperators(value: Value): value is BsonDocument {
  return value.type === bsonType.document && value.fields[0]?.[0].startsWith('$') === true
}

function naiveField(document: BsonDocument, path: string, condition: Value): boolean {
  if (!isOperators(condition))
    return candidates(document, path, true).some(value => naiveValue(value, '$eq', condition))
  return condition.fields.every(([operator, operand]) => {
    switch (operator) {
      case '$ne':
        return !naiveField(document, path, BsonDocument.of([['$eq', operand]]))
      case '$nin':
        return !naiveField(document, path, BsonDocument.of([['$in', operand]]))
      case '$not':
        return !naiveField(document, path, operand)
      case '$all': {
        const { elements } = operand as BsonArray
        return (
          elements.length > 0 && elements.every(each => naiveField(document, path, BsonDocument.of([['$eq', each]])))
        )
      }
      case '$exists': {
        const exists = candidates(document, path, true).some(value => value !== undefined)
        return exists === (operand as { value: boolean }).value
      }
      default:
        return candidates(document, path, operator !== '$size' && operator !== '$elemMatch').some(value =>
          naiveValue(value, operator, operand),
        )
    }
  })
}

function naiveValue(value: Value | undefined, operator: string, operand: Value): boolean {
  const type = value?.type
  switch (operator) {
    case '$in':
      return (operand as BsonArray).elements.some(each => naiveValue(value, '$eq', each))
    case '$size':
      return value?.type === bsonType.array && value.elements.length === (operand as { value: number }).value
    case '$type':
      return type === (operand as { value: number }).value
    case '$mod': {
      const [divisor, remainder] = (operand as BsonArray).elements.map(each => exactInteger(each as never)!)
      const dividend = isNumeric(value) ? truncatedInteger(value) : undefined
      return dividend !== undefined && dividend % divisor! === remainder
    }
    case '$elemMatch': {
      if (value?.type !== bsonType.array) return false
      const filter = operand as BsonDocument
      if (isOperators(filter) && !['$and', '$or', '$nor'].includes(filter.fields[0]![0])) {
        return value.elements.some(each => filter.fields.every(([name, wanted]) => naiveValue(each, name, wanted)))
      }
      return value.elements.some(each => {
        if (each.type === bsonType.document) return naiveMatch(filter, each)
        if (each.type !== bsonType.array) return false
        return naiveMatch(filter, BsonDocument.of(each.elements.map((inner, at) => [String(at), inner])))
      })
    }
    default:
      return naiveComparison(value, operator, operand)
  }
}

function naiveComparison(value: Value | undefined, operator: string, operand: Value): boolean {
  const allowsEqual = operator === '$eq' || operator.endsWith('e')
  if (operand.type === bsonType.null) {
    return allowsEqual && (value === undefined || value.type === bsonType.null || value.type === bsonType.undefined)
  }
  if (operand.type === bsonType.maxKey && value?.type !== bsonType.maxKey) return operator.startsWith('$lt')
  if (operand.type === bsonType.minKey && value?.type !== bsonType.minKey) return operator.startsWith('$gt')
  if (value === undefined || rankOf(value.type) !== rankOf(operand.type)) return false
  if (isNumeric(value) && isNumeric(operand) && (isNaNValue(value) || isNaNValue(operand))) {
    return isNaNValue(value) && isNaNValue(operand) && allowsEqual
  }
  const order = compareValues(value, operand)
  if (operator === '$eq') return order === 0
  if (operator.startsWith('$lt')) return order < 0 || (allowsEqual && order === 0)
  return order > 0 || (allowsEqual && order === 0)
}

const source = new RandomBson(77)
const filters = new RandomFilter(source)

test('filters over bytes agree with a matcher over decoded documents', () => {
  const documents = filters.documents(120)
  const encoded = documents.map(document => encodeDocument(document))
  let matches = 0
  for (let n = 0; n < 1500; n += 1) {
    const filter = filters.filter()
    const matcher = compileFilter(BsonDocument.view(encodeDocument(filter)))
    for (const [at, document] of documents.entries()) {
      const expected = naiveMatch(filter, document)
      if (matcher.matches(encoded[at]!) !== expected) {
        assert.fail(`${printDocument(filter)} on ${printDocument(document)} should be ${expected}`)
      }
      if (expected) matches += 1
      // To find the position, the matcher runs the conditions one by one.
      if (expected) matcher.position(encoded[at]!)
    }
  }
  assert.ok(matches > 5000, `${matches} matches`)
})

test('a filter finds a document with an equal value, whatever its type', () => {
  for (let n = 0; n < 2000; n += 1) {
    const value = filters.operand()
    const document = encodeDocument([
      ['x', string('before')],
      ['v', value],
    ])
    for (const operator of ['$eq', '$gte', '$lte']) {
      const filter = BsonDocument.of([['v', BsonDocument.of([[operator, value]])]])
      assert.ok(compileFilter(filter).matches(document), printDocument(filter))
    }
  }
})

test('any filter, sort or projection is compiled or refused with an error text', () => {
  const names = [
    ...['$eq', '$ne', '$gt', '$lt', '$in', '$nin', '$and', '$or', '$nor', '$not', '$exists', '$type', '$mod', '$regex'],
    ...[
      '$options',
      '$all',
      '$elemMatch',
      '$size',
      '$bitsAllSet',
      '$bitsAnyClear',
      '$geoWithin',
      '$geoIntersects',
      '$near',
    ],
    ...[
      '$geometry',
      '$box',
      '$center',
      '$maxDistance',
      '$slice',
      '$meta',
      '$comment',
      '$ref',
      '$id',
      '$natural',
      '$',
      '$x',
    ],
    ...['a', 'b', 'a.b', 'a.$', 'a.$.b', '', '.', 'a.', '_id', 'type', 'coordinates'],
  ]
  const randomSpec = (depth: number): BsonDocument => {
    const fields: Field[] = []
    for (let left = source.random(4); left > 0; left -= 1) fields.push([source.oneOf(names), randomPart(depth)])
    return BsonDocument.of(fields)
  }
  const randomPart = (depth: number): Value => {
    const kind = source.random(depth > 0 ? 4 : 2)
    if (kind === 0) return source.value(1)
    if (kind === 1) return int32(source.random(3) - 1)
    return kind === 2
      ? randomSpec(depth - 1)
      : BsonArray.of(Array.from({ length: source.random(3) }, () => randomPart(depth - 1)))
  }
  const documents = filters.documents(20).map(document => encodeDocument(document))
  let compiled = 0
  for (let n = 0; n < 20_000; n += 1) {
    const spec = randomSpec(3)
    const uses = [
      () => {
        const matcher = compileFilter(spec, {}, { isWholeDocument: true, allowsNear: true })
        demandsOf(matcher.filter)
        for (const document of documents) matcher.matches(document)
      },
      () => documents.map(compileSort(spec).keyOf),
      () => documents.map(document => validateDocument(compileProjection(spec, {}).project(document, 0))),
    ]
    for (const use of uses) {
      try {
        use()
        compiled += 1
      } catch (error) {
        if (!(error instanceof MongoError)) assert.fail(`${printDocument(spec)} ${error}`)
      }
    }
  }
  assert.ok(compiled > 5000, `${compiled} compiled`)
})
