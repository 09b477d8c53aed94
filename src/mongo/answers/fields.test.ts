import assert from 'node:assert/strict'
import { test } from 'node:test'
import { BsonDocument } from '../../document/bson/value.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { packRows, unpackRows } from '../../query/packed-rows.ts'
import { Documents, encodeFields, giveUpBatch } from './fields.ts'

test('the memory of a batch is given up when the batch is written, and what is written stays', () => {
  const document = encodeDocument(BsonDocument.of([['text', { type: 2, value: 'x'.repeat(1000) }]]))
  const packed = packRows(Array.from({ length: 200 }, () => document))!
  const list = unpackRows(packed)
  const answer = { cursor: { nextBatch: new Documents(list, [packed.bytes]) }, ok: 1 }
  const before = encodeFields(answer)
  const bytes = encodeFields(answer)
  giveUpBatch(answer)
  assert.equal(packed.bytes.length, 0, 'it is not left to the next collection')
  assert.ok(bytes.equals(before))
  assert.ok(bytes.includes(document))

  const kept = new Documents([document])
  giveUpBatch({ cursor: { firstBatch: kept } })
  assert.equal(kept.list[0]!.length, document.length, 'documents that others may have stay')
})
