/** Tests of BSON: round trips against the official package, hostile bytes, wanted fields. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import * as official from 'bson'
import { RandomBson } from '../../../test/support/random-bson.ts'
import { bsonType } from './types.ts'
import {
  bsonCommandDepthMax,
  bsonDepthMax,
  MalformedBson,
  validateDocument,
  validateInSteps,
  WantedFields,
} from './validate.ts'
import { BsonArray, BsonDocument, int32, string, type Value } from './value.ts'
import { ElementCursor, findElement } from './view.ts'
import { encodeDocument } from './writer.ts'

function decodedAgain(value: Value): Value {
  if (value.type === bsonType.document)
    return BsonDocument.of(value.fields.map(([name, each]) => [name, decodedAgain(each)]))
  if (value.type === bsonType.array) return BsonArray.of(value.elements.map(decodedAgain))
  return value
}

test('documents from the official package are read and written back byte for byte', () => {
  const document = {
    a: 1,
    b: new official.Double(1),
    c: official.Long.fromString('9223372036854775807'),
    d: official.Decimal128.fromString('-12.50E-3'),
    e: 'grün \u{1f600}',
    f: { g: [1, [2, null], { h: true }] },
    i: new official.ObjectId('0123456789abcdef01234567'),
    j: new Date(1234567890123),
    k: new official.BSONRegExp('^a', 'im'),
    l: new official.Timestamp({ t: 4_000_000_000, i: 7 }),
    m: new official.MinKey(),
    n: new official.MaxKey(),
    o: new official.Binary(Buffer.from('xyz'), 128),
    p: new official.Code('return 1', { q: 1 }),
    r: new official.Code('return 2'),
    s: new official.BSONSymbol('t'),
    u: new official.UUID(),
    v: 'long text '.repeat(20),
  }
  const bytes = official.serialize(document)
  assert.equal(validateDocument(bytes), bytes.length)
  const decoded = decodedAgain(BsonDocument.view(bytes)) as BsonDocument
  assert.equal(decoded.raw, undefined)
  assert.deepEqual(Buffer.from(encodeDocument(decoded)), Buffer.from(bytes))
})

test('fields keep their order, repeated names and names that look like numbers', () => {
  const document = BsonDocument.of([
    ['b', int32(1)],
    ['2', int32(2)],
    ['1', int32(3)],
    ['b', int32(4)],
    ['__proto__', int32(5)],
    ['', int32(6)],
    ['é', int32(7)],
  ])
  const view = BsonDocument.view(encodeDocument(document))
  assert.deepEqual(view.get('b'), int32(1))
  assert.deepEqual(view.get('__proto__'), int32(5))
  assert.deepEqual(view.get('é'), int32(7))
  assert.equal(view.get('toString'), undefined)
  assert.deepEqual(view.fields, document.fields)
})

test('random values survive writing and reading', () => {
  const source = new RandomBson(1)
  for (let n = 0; n < 3000; n += 1) {
    const document = source.document()
    const bytes = encodeDocument(document)
    assert.equal(validateDocument(bytes, { start: 0, end: bytes.length }), bytes.length)
    const again = decodedAgain(BsonDocument.view(bytes)) as BsonDocument
    assert.deepEqual(encodeDocument(again), bytes)
  }
})

/** Reads every value, as matching would. */
function walk(bytes: Uint8Array, start: number): number {
  let count = 0
  const cursor = new ElementCursor(bytes, start)
  while (cursor.next()) {
    count += 1 + cursor.name().length
    if (cursor.type === bsonType.document || cursor.type === bsonType.array) count += walk(bytes, cursor.valueStart)
  }
  return count
}

test('mutated documents are either refused or readable to the end', () => {
  const source = new RandomBson(2)
  let accepted = 0
  let refused = 0
  for (let n = 0; n < 20_000; n += 1) {
    const bytes = Buffer.from(encodeDocument(source.document()))
    for (let left = 1 + source.random(3); left > 0; left -= 1) {
      bytes[source.random(bytes.length)] = source.oneOf([0, 1, 2, 3, 4, 5, 15, 127, 128, 255, source.random(256)])
    }
    const cut = source.random(4) === 0 ? bytes.subarray(0, source.random(bytes.length)) : bytes
    try {
      const end = validateDocument(cut)
      assert.ok(end <= cut.length)
      walk(cut, 0)
      decodedAgain(BsonDocument.view(cut))
      accepted += 1
    } catch (error) {
      if (!(error instanceof MalformedBson)) throw error
      refused += 1
    }
  }
  assert.ok(accepted > 1000 && refused > 1000, `${accepted} ${refused}`)
})

const hostile: readonly (readonly [name: string, hex: string])[] = [
  ['nothing', ''],
  ['a length without a document', '05000000'],
  ['a length below five', '0400000000'],
  ['a length beyond the end', '0600000000'],
  ['a negative length', 'ffffffff00'],
  ['no null byte at the end', '0500000001'],
  ['a null byte before the end', '060000000000'],
  ['an unknown type', '08000000146100 00'],
  ['a name without an end', '070000001061 00'],
  ['an int32 that is cut off', '0a0000001061000102 00'],
  ['a boolean of two', '09000000086100 02 00'],
  ['a string of length zero', '0c000000026100 00000000 00'],
  ['a string beyond the end', '0d000000026100 03000000 00 00'],
  ['a string without a null byte', '0e000000026100 02000000 6161 00'],
  ['a string that is not UTF-8', '0e000000026100 02000000 ff00 00'],
  ['a name that is not UTF-8', '080000000aff0000'],
  ['an overlong form in UTF-8', '0f000000026100 03000000 c08000 00'],
  ['a surrogate in UTF-8', '10000000026100 04000000 eda08000 00'],
  ['binary data of negative length', '0d000000056100 ffffffff 00 00'],
  ['old binary data with another length inside', '12000000056100 05000000 02 02000000 41 00'],
  ['a code whose scope does not fill it', '1a0000000f6100 12000000 02000000 6100 0500000000 000000 00'],
  ['a regular expression without an end', '0a0000000b6100 61 00 61'],
]

for (const [name, hex] of hostile) {
  test(`${name} is refused`, () => {
    assert.throws(() => validateDocument(Buffer.from(hex.replaceAll(' ', ''), 'hex')), MalformedBson)
  })
}

function nested(levels: number): Buffer {
  let bytes: Buffer = Buffer.from('0500000000', 'hex')
  for (let left = levels; left > 1; left -= 1) {
    const length = Buffer.alloc(4)
    length.writeInt32LE(bytes.length + 8)
    bytes = Buffer.concat([length, Buffer.from('036100', 'hex'), bytes, Buffer.of(0)])
  }
  return bytes
}

test('in steps, the verdict is the same, and each step is short', () => {
  const inner = BsonDocument.of(Array.from({ length: 300 }, (_, n) => [`f${n}`, string('x'.repeat(40))]))
  const bytes = encodeDocument(Array.from({ length: 100 }, (_, n) => [`d${n}`, inner]))
  const end = (given: Uint8Array) => {
    const steps = validateInSteps(given)
    for (let count = 1; ; count++) {
      const step = steps.next()
      if (step.done === true) return { end: step.value, count }
    }
  }
  const { end: found, count } = end(bytes)
  assert.equal(found, bytes.length)
  assert.ok(count >= bytes.length / (80 * 1024), `${count} steps`)
  const cut = Buffer.from(bytes)
  cut[bytes.length - 40] = 0xff
  assert.throws(() => validateDocument(cut), MalformedBson)
  assert.throws(() => end(cut), MalformedBson)
  const [one, other] = [validateInSteps(bytes), validateInSteps(bytes)]
  // Two at the same time have places of their own.
  while (one.next().done !== true) other.next()
  assert.equal(end(bytes).end, bytes.length)
})

test('documents may nest as deep as the limit and no deeper', () => {
  validateDocument(nested(bsonDepthMax))
  assert.throws(() => validateDocument(nested(bsonDepthMax + 1)), MalformedBson)
  validateDocument(nested(bsonCommandDepthMax), { depthMax: bsonCommandDepthMax })
  assert.throws(
    () => validateDocument(nested(bsonCommandDepthMax + 1), { depthMax: bsonCommandDepthMax }),
    MalformedBson,
  )
  assert.throws(() => validateDocument(nested(50_000), { depthMax: bsonCommandDepthMax }), MalformedBson)
})

test('wanted fields are found at the top level only, the first of each name', () => {
  const wanted = new WantedFields(['_id', 'ttl', 'é', 'gone'])
  const document = BsonDocument.of([
    ['x', BsonDocument.of([['_id', int32(9)]])],
    ['_id', string('one')],
    ['é', int32(3)],
    ['_id', string('two')],
    ['ttl', int32(20)],
  ])
  const bytes = Buffer.concat([Buffer.from('before'), encodeDocument(document)])
  validateDocument(bytes, { start: 6, wanted })
  assert.deepEqual(
    [0, 1, 2, 3].map(index => wanted.type(index)),
    [bsonType.string, bsonType.int32, bsonType.int32, 0],
  )
  assert.equal(bytes.toString('utf8', wanted.start(0) + 4, wanted.end(0) - 1), 'one')
  assert.equal(bytes.readInt32LE(wanted.start(1)), 20)
  assert.equal(findElement(bytes, 6, Buffer.from('ttl')) + 5, wanted.start(1))
  validateDocument(encodeDocument([['ttl', int32(1)]]), { wanted })
  assert.equal(wanted.type(0), 0)
})
