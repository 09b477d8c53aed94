/**
 * Documents come back byte for byte: every type, the order of fields, and the types of numbers.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  Binary,
  BSONRegExp,
  BSONSymbol,
  Code,
  Decimal128,
  type Document,
  Double,
  deserialize,
  Int32,
  Long,
  MaxKey,
  MinKey,
  ObjectId,
  serialize,
  Timestamp,
  UUID,
} from 'bson'
import { startMongo } from './support/fixture.ts'
import { opMsg, RawClient, sequence } from './support/raw-client.ts'

const { uri, newDatabase, newCollection, client } = await startMongo()

const everyType: Document = {
  double: new Double(1),
  negativeZero: new Double(-0),
  nan: new Double(Number.NaN),
  infinity: new Double(Number.POSITIVE_INFINITY),
  string: 'text with ünïcode 🪰 and \u0000 in it',
  empty: '',
  document: { b: 1, 2: 'two', 1: 'one', nested: { deep: [] } },
  emptyDocument: {},
  array: [1, 'two', [3], { four: 4 }, null],
  emptyArray: [],
  binary: new Binary(Buffer.from([1, 2, 3]), 0),
  uuid: new UUID(),
  userDefined: new Binary(Buffer.from('x'), 128),
  objectId: new ObjectId(),
  true: true,
  false: false,
  date: new Date(1_700_000_000_123),
  before1970: new Date(-1),
  null: null,
  regex: new BSONRegExp('^a.*b$', 'imsx'),
  code: new Code('function () {}'),
  codeWithScope: new Code('function () {}', { a: 1 }),
  symbol: new BSONSymbol('symbol'),
  int32: new Int32(-2_147_483_648),
  timestamp: new Timestamp({ t: 5, i: 6 }),
  int64: Long.fromString('9223372036854775807'),
  smallInt64: Long.fromNumber(1),
  decimal: Decimal128.fromString('1.10'),
  decimalInteger: Decimal128.fromString('5'),
  decimalNan: Decimal128.fromString('NaN'),
  minKey: new MinKey(),
  maxKey: new MaxKey(),
  $dollar: 1,
  'dotted.name': 2,
  '': 'no name',
  __proto__name: 3,
}

/** Documents that the official BSON package itself would change when it reads and writes them. */
function oddities(): Buffer[] {
  const element = (type: number, name: string, value: Uint8Array) =>
    Buffer.concat([Buffer.of(type), Buffer.from(`${name}\0`), value])
  const document = (...elements: Uint8Array[]) => {
    const content = Buffer.concat([Buffer.alloc(4), ...elements, Buffer.of(0)])
    content.writeInt32LE(content.length, 0)
    return content
  }
  const int32 = (value: number) => {
    const bytes = Buffer.alloc(4)
    bytes.writeInt32LE(value)
    return bytes
  }
  const farDate = Buffer.alloc(8)
  farDate.writeBigInt64LE(2n ** 62n)
  const id = (value: number) => element(0x10, '_id', int32(value))
  return [
    document(id(1), element(0x10, 'b', int32(1)), element(0x10, '2', int32(2)), element(0x10, '1', int32(3))),
    document(id(2), element(0x10, 'same', int32(1)), element(0x10, 'same', int32(2))),
    document(id(3), element(0x09, 'far', farDate)),
    document(id(4), element(0x06, 'undefined', Buffer.alloc(0))),
    document(id(5), element(0x0c, 'pointer', Buffer.concat([int32(2), Buffer.from('x\0'), Buffer.alloc(12, 7)]))),
    document(id(6), element(0x04, 'array', document(element(0x10, '5', int32(1)), element(0x10, '7', int32(2))))),
    document(
      id(7),
      element(
        0x03,
        'reference',
        document(element(0x10, '$id', int32(1)), element(0x02, '$ref', Buffer.concat([int32(2), Buffer.from('c\0')]))),
      ),
    ),
    document(id(8), element(0x10, '__proto__', int32(1)), element(0x10, 'constructor', int32(2))),
  ]
}

async function storedBytes(raw: RawClient, command: Document): Promise<Buffer[]> {
  raw.send(opMsg(serialize(command)))
  const { bytes } = (await raw.next())!
  const { cursor } = deserialize(bytes.subarray(21), { raw: true })
  const batch = deserialize(cursor, { fieldsAsRaw: { firstBatch: true } as never }).firstBatch as Buffer[]
  return batch.map(document => Buffer.from(document))
}

test('Every type comes back with the bytes it was sent with', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const sent = Buffer.from(serialize({ _id: new ObjectId(), ...everyType }, { ignoreUndefined: false }))
  raw.send(opMsg(serialize({ insert: 'c', $db }), { sections: [sequence('documents', [sent])] }))
  assert.equal((await raw.next())?.body.n, 1)
  const { _id } = deserialize(sent)
  for (const filter of [{ _id }, {}, { int32: -2_147_483_648 }]) {
    const [stored] = await storedBytes(raw, { find: 'c', filter, $db })
    assert.deepEqual(stored, sent)
  }
  raw.close()
})

test('Documents that a decoder would change come back unchanged, even if another field is updated', async () => {
  const raw = await RawClient.loggedIn(uri)
  const $db = newDatabase().databaseName
  const sent = oddities()
  raw.send(opMsg(serialize({ insert: 'c', $db }), { sections: [sequence('documents', sent)] }))
  assert.equal((await raw.next())?.body.n, sent.length)
  assert.deepEqual(await storedBytes(raw, { find: 'c', $db }), sent)
  await raw.command({ update: 'c', updates: [{ q: {}, u: { $set: { zz: 1 } }, multi: true }], $db })
  const updated = await storedBytes(raw, { find: 'c', $db })
  for (const [index, bytes] of updated.entries()) {
    // Length, then all elements as they were, then the new one.
    assert.deepEqual(bytes.subarray(4, sent[index]!.length - 1), sent[index]!.subarray(4, -1))
    assert.equal(bytes.length, sent[index]!.length + 8)
  }
  raw.close()
})

test('Equal numbers of different types are one _id, and the first one stays', async () => {
  const ids = [
    new Int32(5),
    new Double(5),
    Long.fromNumber(5),
    Decimal128.fromString('5.00'),
    Decimal128.fromString('0.5E1'),
  ]
  for (const [at, _id] of ids.entries()) {
    const collection = newCollection()
    await collection.insertOne({ _id: _id as never, first: true })
    for (const other of ids) {
      await assert.rejects(collection.insertOne({ _id: other as never }), /E11000/)
      assert.ok(await collection.findOne({ _id: other as never }))
    }
    const [stored] = await collection.find({}, { promoteValues: false }).toArray()
    assert.equal(stored!._id._bsontype, ids[at]!._bsontype)
    assert.equal(String(stored!._id), String(_id))
  }
})

test('Ids of every allowed type are distinct and can be found', async () => {
  const collection = newCollection()
  const ids: unknown[] = [
    0,
    '0',
    '',
    'a'.repeat(5000),
    `${'a'.repeat(4999)}b`,
    null,
    false,
    true,
    new Date(0),
    new ObjectId(),
    new Binary(Buffer.from('0')),
    new Binary(Buffer.from('0'), 128),
    { a: 1 },
    { a: 1, b: 1 },
    { b: 1, a: 1 },
    {},
    new Timestamp({ t: 0, i: 1 }),
    new MinKey(),
    new MaxKey(),
    Number.NaN,
    Number.POSITIVE_INFINITY,
    Long.fromString('9007199254740993'),
    Long.fromString('9007199254740992'),
    0.1,
    Decimal128.fromString('0.1'),
  ]
  // The driver would give null another _id.
  await collection.db.command({ insert: 'items', documents: ids.map((_id, at) => ({ _id, at })) })
  for (const [at, _id] of ids.entries()) {
    assert.equal((await collection.findOne({ _id: _id as never }))?.at, at, String(_id))
    assert.equal((await collection.findOne({ _id: { $eq: _id } as never }))?.at, at, String(_id))
  }
  assert.equal(await collection.estimatedDocumentCount(), ids.length)
})

test('_id moves to the front, and is generated if it is missing', async () => {
  const collection = newCollection()
  await client.db(collection.dbName).command({ insert: 'items', documents: [{ a: 1, _id: 7, b: 2 }, { c: 3 }] })
  const [moved, made] = await collection.find().toArray()
  assert.deepEqual(Object.keys(moved!), ['_id', 'a', 'b'])
  assert.deepEqual(Object.keys(made!), ['_id', 'c'])
  assert.equal(made!._id._bsontype, 'ObjectId')
})

test('Numbers keep their type through updates', async () => {
  const collection = newCollection()
  await collection.insertOne({
    _id: 1 as never,
    long: Long.fromString('9007199254740993'),
    decimal: Decimal128.fromString('1.10'),
    double: new Double(1),
    int: new Int32(1),
  })
  await collection.updateOne({ _id: 1 as never }, { $inc: { long: 1, decimal: 1, double: 1, int: 1 } })
  const stored = await collection.findOne({ _id: 1 as never }, { promoteValues: false })
  assert.equal(stored!.long.toString(), '9007199254740994')
  assert.equal(stored!.decimal.toString(), '2.10')
  assert.equal(stored!.double._bsontype, 'Double')
  assert.equal(stored!.int._bsontype, 'Int32')
})

const refusedDocuments: readonly (readonly [name: string, document: Document, code: number])[] = [
  ['an array as _id', { _id: [1] }, 53],
  ['a pattern as _id', { _id: new BSONRegExp('x') }, 53],
  ['an operator in _id', { _id: { $gt: 1 } }, 52],
]

test('A document that cannot be stored is refused, and the others of the command are stored', async () => {
  for (const [name, document, code] of refusedDocuments) {
    const database = newDatabase()
    const answer = await database.command({
      insert: 'c',
      documents: [{ _id: 1 }, document, { _id: 2 }],
      ordered: false,
    })
    assert.equal(answer.n, 2, name)
    assert.equal(answer.writeErrors[0].index, 1, name)
    assert.equal(answer.writeErrors[0].code, code, name)
  }
})

test('A document may nest 100 levels, and no deeper', async () => {
  const nested = (depth: number) => {
    let value: Document = { x: 1 }
    for (let level = 1; level < depth; level++) value = { x: value }
    return value
  }
  const database = newDatabase()
  assert.equal((await database.command({ insert: 'c', documents: [{ _id: 1, ...nested(100) }] })).n, 1)
  const answer = await database.command({ insert: 'c', documents: [{ _id: 2, ...nested(101) }] })
  assert.equal(answer.n, 0)
  assert.equal(answer.writeErrors[0].code, 22)
})

test('A document of 16 MB is stored, a larger one is not', async () => {
  const collection = newCollection()
  const size = 16 * 1024 * 1024
  const overhead = serialize({ _id: 1, text: '' }).length
  await collection.insertOne({ _id: 1 as never, text: 'x'.repeat(size - overhead) })
  assert.equal((await collection.findOne({ _id: 1 as never }))?.text.length, size - overhead)
  const raw = await RawClient.loggedIn(uri)
  const larger = serialize({ _id: 2, text: 'x'.repeat(size - overhead + 1) })
  raw.send(
    opMsg(serialize({ insert: 'items', $db: collection.dbName }), { sections: [sequence('documents', [larger])] }),
  )
  const { n, writeErrors } = (await raw.next())!.body
  assert.equal(n, 0)
  assert.equal(writeErrors[0].code, 10334)
  raw.close()
})
