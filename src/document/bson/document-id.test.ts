import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isOutOfOrder } from './document-id.ts'
import { bsonType } from './types.ts'
import type { Value } from './value.ts'
import { BsonDocument } from './value.ts'
import { encodeDocument } from './writer.ts'

const long = 'x'.repeat(1000)
const id = new Uint8Array(12)

const longIds: readonly Value[] = [
  { type: bsonType.string, value: long },
  { type: bsonType.symbol, value: long },
  { type: bsonType.code, value: long },
  { type: bsonType.binary, subtype: 0, value: Buffer.from(long) },
  { type: bsonType.dbPointer, namespace: long, id },
  BsonDocument.of([['a', { type: bsonType.string, value: long }]]),
]

for (const value of longIds) {
  test(`a long _id of type ${value.type} may be out of order`, () => {
    assert.equal(isOutOfOrder(encodeDocument([['_id', value]])), true)
  })
}

test('a short _id is in order', () => {
  assert.equal(isOutOfOrder(encodeDocument([['_id', { type: bsonType.string, value: 'x' }]])), false)
  assert.equal(isOutOfOrder(encodeDocument([['_id', { type: bsonType.dbPointer, namespace: 'n', id }]])), false)
})
