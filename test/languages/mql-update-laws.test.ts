/** Laws of updates over random documents: a set value is found, and untouched fields keep their bytes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RequestError } from '../../src/base/error.ts'
import { bsonType } from '../../src/document/bson/types.ts'
import { validateDocument } from '../../src/document/bson/validate.ts'
import {
  BsonArray,
  BsonDocument,
  type Field,
  int32,
  nullValue,
  string,
  type Value,
} from '../../src/document/bson/value.ts'
import { ElementCursor } from '../../src/document/bson/view.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { compileFilter } from '../../src/mql/filter/match.ts'
import { compileUpdate, type Updated, updateOperators } from '../../src/mql/update/update.ts'
import { upsertDocument } from '../../src/mql/update/upsert.ts'
import { RandomBson } from '../support/random-bson.ts'

const now = { epochMs: 1_700_000_000_000, timestamp: 1n << 32n }
const runs = 4000

function document(...fields: readonly Field[]): BsonDocument {
  return BsonDocument.of(fields)
}

function stored(random: RandomBson): Buffer {
  return encodeDocument([['_id', int32(1)], ...random.document().fields])
}

function path(random: RandomBson): string {
  const parts = ['a', 'b', 'c', '0', '1', 'aa', 'é', '__proto__', '3']
  return Array.from({ length: 1 + random.random(3) }, () => random.oneOf(parts)).join('.')
}

/** The update, or undefined if it is refused. Any other error fails the test. */
function applied(spec: BsonDocument, bytes: Uint8Array, position?: number): Updated | undefined {
  try {
    const result = compileUpdate(spec).apply(bytes, { isInsert: false, position, now })
    validateDocument(result.document, { end: result.document.length })
    return result
  } catch (error) {
    if (error instanceof RequestError && !error.message.includes('BSON document is invalid')) return undefined
    throw error
  }
}

interface Element {
  readonly name: string
  readonly bytes: string
}

function elementsOf(bytes: Uint8Array, start = 0): Element[] {
  const elements: Element[] = []
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    const raw = Buffer.from(bytes.subarray(cursor.nameStart - 1, cursor.valueEnd))
    elements.push({ name: cursor.name(), bytes: raw.toString('hex') })
  }
  return elements
}

/** An index beyond the end means a field of a document, or a gap. The cases cover both. */
function isComparable({ type }: Value): boolean {
  return type !== bsonType.undefined && type !== bsonType.regex
}

test('$set stores the value, and setting it again changes nothing', () => {
  const random = new RandomBson(1)
  let count = 0
  for (let run = 0; run < runs; run += 1) {
    const [bytes, at, value] = [stored(random), path(random), random.value()]
    if (!isComparable(value)) continue
    const spec = document(['$set', document([at, value])])
    const after = applied(spec, bytes)
    if (after === undefined) continue
    count += 1
    const filter = compileFilter(document([at, document(['$eq', value])]))
    assert.ok(filter.matches(after.document), `${at} in ${Buffer.from(after.document).toString('hex')}`)
    assert.equal(applied(spec, after.document)?.isChanged, false)
  }
  assert.ok(count > runs / 2, `${count} updates were possible`)
})

test('$unset removes the field', () => {
  const random = new RandomBson(2)
  let count = 0
  for (let run = 0; run < runs; run += 1) {
    const bytes = stored(random)
    const { fields } = BsonDocument.view(bytes)
    const { name } = { name: random.oneOf(fields)[0] }
    if (name === '_id' || name === '' || name.includes('.') || fields.filter(field => field[0] === name).length > 1)
      continue
    const after = applied(document(['$unset', document([name, nullValue])]), bytes)
    assert.ok(after?.isChanged)
    assert.equal(BsonDocument.view(after.document).get(name), undefined)
    count += 1
  }
  assert.ok(count > runs / 8)
})

test('fields that an update does not name keep their bytes and their order', () => {
  const random = new RandomBson(3)
  let changed = 0
  for (let run = 0; run < runs; run += 1) {
    const bytes = stored(random)
    const operators = Array.from({ length: 1 + random.random(3) }, () => random.oneOf(updateOperators))
    const named = new Set<string>()
    const spec = document(
      ...operators.map((operator): Field => {
        const at = path(random)
        named.add(at.split('.')[0]!)
        if (operator === '$rename') named.add('renamed')
        return [operator, document([at, operandOf(operator, random)])]
      }),
    )
    const after = applied(spec, bytes)
    if (after === undefined) continue
    if (after.isChanged) changed += 1
    const untouched = (all: Uint8Array): Element[] => elementsOf(all).filter(({ name }) => !named.has(name))
    assert.deepEqual(untouched(after.document), untouched(bytes))
  }
  assert.ok(changed > runs / 4, `${changed} documents changed`)
})

test('the other elements of an array keep their bytes', () => {
  const random = new RandomBson(4)
  for (let run = 0; run < runs; run += 1) {
    const list = BsonArray.of(Array.from({ length: 1 + random.random(4) }, () => random.value()))
    const bytes = encodeDocument([['list', list]])
    const index = random.random(list.elements.length)
    const after = applied(document(['$set', document([`list.${index}`, random.value()])]), bytes)!
    const start = new ElementCursor(after.document)
    start.next()
    const others = (all: Uint8Array): Element[] => {
      return elementsOf(all, start.valueStart).filter(({ name }) => name !== String(index))
    }
    assert.deepEqual(others(after.document), others(bytes))
    const positional = applied(document(['$set', document(['list.$', nullValue])]), bytes, index)!
    assert.deepEqual(others(positional.document), others(bytes))
  }
})

test('$pop undoes $push, to the same bytes', () => {
  const random = new RandomBson(5)
  for (let run = 0; run < runs; run += 1) {
    const list = BsonArray.of(Array.from({ length: random.random(5) }, () => random.value()))
    const bytes = encodeDocument([
      ['list', list],
      ['b', random.value()],
    ])
    const value = random.value()
    const each = document(['$each', BsonArray.of([value])], ['$position', int32(0)])
    for (const [operand, end] of [
      [document(['$each', BsonArray.of([value])]), 1],
      [each, -1],
    ] as const) {
      const pushed = applied(document(['$push', document(['list', operand])]), bytes)!
      const popped = applied(document(['$pop', document(['list', int32(end)])]), pushed.document)!
      assert.deepEqual(Buffer.from(popped.document), bytes)
    }
  }
})

test('an array has a value after $addToSet, and no longer has it after $pullAll', () => {
  const random = new RandomBson(6)
  for (let run = 0; run < runs; run += 1) {
    const list = BsonArray.of(Array.from({ length: random.random(5) }, () => random.value(1)))
    const bytes = encodeDocument([['list', list]])
    const value = random.value(1)
    const each = document(['$each', BsonArray.of([value])])
    const pull = document(['$pullAll', document(['list', BsonArray.of([value])])])
    const without = applied(pull, bytes)!.document
    const added = applied(document(['$addToSet', document(['list', each])]), without)!
    assert.equal(added.isChanged, true)
    assert.equal(applied(document(['$addToSet', document(['list', each])]), added.document)!.isChanged, false)
    assert.deepEqual(Buffer.from(applied(pull, added.document)!.document), Buffer.from(without))
  }
})

test('the filter finds the upserted document if the update does not touch it', () => {
  const random = new RandomBson(7)
  const update = compileUpdate(document(['$setOnInsert', document(['new', int32(1)])]))
  for (let run = 0; run < runs; run += 1) {
    const names = ['a', 'b', 'c.d', 'c.e', 'f.0'].filter(() => random.random(2) === 0)
    const filter = document(...names.map((name): Field => [name, document(['$eq', random.value()])]))
    if (filter.fields.some(([, condition]) => !isComparable((condition as BsonDocument).get('$eq')!))) continue
    const { document: inserted } = upsertDocument(filter, update, now, () => int32(5))
    validateDocument(inserted, { end: inserted.length })
    assert.ok(compileFilter(filter).matches(inserted))
  }
})

test('any update is applied or refused', () => {
  const random = new RandomBson(8)
  const parts = ['a', 'b', '0', '$', '$[]', '$[x]', '', '$a', '_id', '__proto__']
  for (let run = 0; run < 2 * runs; run += 1) {
    const anyPath = Array.from({ length: 1 + random.random(3) }, () => random.oneOf(parts)).join('.')
    const operator = random.oneOf([...updateOperators, '$foo', 'a'])
    const operand = random.random(2) === 0 ? random.value() : operandOf(operator, random)
    const fields: Field[] = [[operator, random.random(20) === 0 ? random.value() : document([anyPath, operand])]]
    applied(document(...fields), stored(random), random.oneOf([undefined, 0, 1]))
  }
})

/** An operand that the operator is likely to accept. */
function operandOf(operator: string, random: RandomBson): Value {
  switch (operator) {
    case '$inc':
    case '$mul':
      return random.number()
    case '$rename':
      return string('renamed')
    case '$pop':
      return int32(random.oneOf([1, -1]))
    case '$bit':
      return document([random.oneOf(['and', 'or', 'xor']), int32(random.random(16))])
    case '$currentDate':
      return document(['$type', string(random.oneOf(['date', 'timestamp']))])
    case '$pullAll':
      return BsonArray.of([random.value(), random.value()])
    case '$pull':
      return random.oneOf([random.value(), document(['$gt', random.value()]), document(['a', random.value()])])
    case '$push': {
      const each: Field = ['$each', BsonArray.of([random.value(), random.value()])]
      const sort: Field = ['$sort', random.oneOf([int32(1), document(['a.b', int32(-1)])])]
      return random.oneOf([random.value(), document(each, sort, ['$slice', int32(random.random(7) - 3)])])
    }
    case '$addToSet':
      return random.oneOf([random.value(), document(['$each', BsonArray.of([random.value(), random.value()])])])
    default:
      return random.value()
  }
}
