/** Validators: which writes they refuse, what the refusal says, and `$jsonSchema` in queries. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type Collection, type Document, Long, type MongoBulkWriteError, MongoClient } from 'mongodb'
import { mayfly } from '../../../src/index.ts'
import { temporaryDirectory } from '../../support/start-server.ts'
import { failure, idsOf, startMongo } from './support/fixture.ts'

const { db: server, client, newDatabase } = await startMongo()

interface Item extends Document {
  readonly _id: number
}

async function validated(options: Document): Promise<Collection<Item>> {
  const database = newDatabase()
  await database.createCollection('items', options)
  return database.collection<Item>('items')
}

/** The `errInfo` of a refused write. */
async function refusal(work: Promise<unknown>): Promise<Document> {
  try {
    await work
  } catch (error) {
    const { code, errInfo, writeErrors } = error as { code: number; errInfo?: Document; writeErrors?: Document[] }
    assert.equal(code, 121, String(error))
    return errInfo ?? writeErrors?.[0]?.err?.errInfo ?? assert.fail('no errInfo')
  }
  return assert.fail('it was not refused')
}

const mustHaveA = { validator: { a: { $exists: true } } }

test('A document that does not match is refused, whatever the kind of write', async () => {
  const items = await validated(mustHaveA)
  const { db: database } = items
  await items.insertOne({ _id: 1, a: 1 })
  const missing = { operatorName: '$exists', specifiedAs: { a: { $exists: true } }, reason: 'path does not exist' }
  const expected = (id: unknown) => ({ failingDocumentId: id, details: missing })
  assert.deepEqual(await refusal(items.insertOne({ _id: 2 })), expected(2))
  assert.deepEqual(await refusal(items.updateOne({ _id: 1 }, { $unset: { a: 1 } })), expected(1))
  assert.deepEqual(await refusal(items.updateMany({}, [{ $unset: 'a' }])), expected(1))
  assert.deepEqual(await refusal(items.replaceOne({ _id: 1 }, { b: 1 })), expected(1))
  assert.deepEqual(await refusal(items.updateOne({ _id: 3 }, { $set: { b: 1 } }, { upsert: true })), expected(3))
  assert.deepEqual(await refusal(items.replaceOne({ _id: 3 }, { b: 1 }, { upsert: true })), expected(3))
  assert.deepEqual(await refusal(items.findOneAndUpdate({ _id: 1 }, { $unset: { a: 1 } })), expected(1))
  assert.deepEqual(await refusal(items.findOneAndReplace({ _id: 4 }, { b: 1 }, { upsert: true })), expected(4))
  assert.deepEqual(await refusal(items.bulkWrite([{ insertOne: { document: { _id: 5 } } }])), expected(5))
  await database.collection<Item>('source').insertOne({ _id: 6, b: 1 })
  const source = database.collection('source')
  const out = await failure(source.aggregate([{ $out: 'items' }]).toArray())
  assert.equal(out.code, 121)
  assert.match(out.message, /Document failed validation$/)
  assert.deepEqual(await refusal(source.aggregate([{ $out: 'items' }]).toArray()), expected(6))
  assert.deepEqual(await refusal(source.aggregate([{ $merge: 'items' }]).toArray()), expected(6))
  assert.deepEqual(await items.find().toArray(), [{ _id: 1, a: 1 }])
  // Deleting, and an update that changes nothing, are no matter of the validator.
  await items.updateOne({ _id: 1 }, { $set: { a: 1 } })
  await items.deleteOne({ _id: 1 })
})

test('The error has the code, name and text of MongoDB', async () => {
  const items = await validated(mustHaveA)
  const answer = await items.db.command({ insert: 'items', documents: [{ _id: 1 }] })
  const [{ errInfo, ...error }] = answer.writeErrors
  assert.deepEqual(error, { index: 0, code: 121, errmsg: 'Document failed validation' })
  assert.equal(errInfo.failingDocumentId, 1)
  const modify = { findAndModify: 'items', query: { _id: 1 }, update: { b: 1 }, upsert: true }
  const { code, codeName, message } = await failure(items.db.command(modify))
  assert.deepEqual([code, codeName], [121, 'DocumentValidationFailure'])
  assert.match(message, /Document failed validation$/)
})

test('Of many documents those are inserted that may be', async () => {
  const documents = Array.from({ length: 2500 }, (_, n): Item => (n % 3 === 0 ? { _id: n } : { _id: n, a: 1 }))
  const bad = documents.filter(({ a }) => a === undefined).length
  const unordered = await validated(mustHaveA)
  const error = (await unordered
    .insertMany(documents, { ordered: false })
    .catch((each: unknown) => each)) as MongoBulkWriteError
  assert.equal((error.writeErrors as unknown[]).length, bad)
  assert.equal(await unordered.countDocuments(), documents.length - bad)
  const ordered = await validated(mustHaveA)
  await failure(ordered.insertMany([{ _id: 1, a: 1 }, { _id: 2 }, { _id: 3, a: 1 }]))
  assert.deepEqual(idsOf(await ordered.find().toArray()), [1])
})

test('A JSON Schema reports each rule that is broken', async () => {
  const items = await validated({
    validator: {
      $jsonSchema: {
        bsonType: 'object',
        title: 'Person',
        required: ['name', 'year'],
        properties: {
          name: { bsonType: 'string', minLength: 2, description: 'a name' },
          year: { bsonType: 'int', minimum: 1900, maximum: 2100 },
          tags: { bsonType: 'array', items: { enum: ['a', 'b'] }, uniqueItems: true },
          address: { bsonType: 'object', additionalProperties: false, properties: { city: { pattern: '^[A-Z]' } } },
        },
      },
    },
  })
  await items.insertOne({ _id: 1, name: 'Al', year: 1990, tags: ['a'], address: { city: 'Rome' } })
  const { failingDocumentId, details } = await refusal(
    items.insertOne({ _id: 2, name: 'x', tags: ['b', 'c'], address: { city: 'rome', street: 1 } }),
  )
  assert.equal(failingDocumentId, 2)
  assert.deepEqual(details, {
    operatorName: '$jsonSchema',
    title: 'Person',
    schemaRulesNotSatisfied: [
      {
        operatorName: 'properties',
        propertiesNotSatisfied: [
          {
            propertyName: 'name',
            description: 'a name',
            details: [
              {
                operatorName: 'minLength',
                specifiedAs: { minLength: 2 },
                reason: 'specified string length was not satisfied',
                consideredValue: 'x',
              },
            ],
          },
          {
            propertyName: 'tags',
            details: [
              {
                operatorName: 'items',
                reason: 'At least one item did not match the sub-schema',
                itemIndex: 1,
                details: [
                  {
                    operatorName: 'enum',
                    specifiedAs: { enum: ['a', 'b'] },
                    reason: 'value was not found in enum',
                    consideredValue: 'c',
                  },
                ],
              },
            ],
          },
          {
            propertyName: 'address',
            details: [
              {
                operatorName: 'properties',
                propertiesNotSatisfied: [
                  {
                    propertyName: 'city',
                    details: [
                      {
                        operatorName: 'pattern',
                        specifiedAs: { pattern: '^[A-Z]' },
                        reason: 'regular expression did not match',
                        consideredValue: 'rome',
                      },
                    ],
                  },
                ],
              },
              {
                operatorName: 'additionalProperties',
                specifiedAs: { additionalProperties: false },
                additionalProperties: ['street'],
              },
            ],
          },
        ],
      },
      {
        operatorName: 'required',
        specifiedAs: { required: ['name', 'year'] },
        missingProperties: ['year'],
      },
    ],
  })
})

test('Every kind of filter reports why it does not match', async () => {
  const cases: readonly (readonly [validator: Document, document: Item, details: Document])[] = [
    [
      { a: 1 },
      { _id: 1, a: 2 },
      { operatorName: '$eq', specifiedAs: { a: 1 }, reason: 'comparison failed', consideredValue: 2 },
    ],
    [
      { a: { $gt: 5 }, b: { $in: [1, 2] } },
      { _id: 1, a: [1, 2], b: 1 },
      {
        operatorName: '$and',
        clausesNotSatisfied: [
          {
            index: 0,
            details: {
              operatorName: '$gt',
              specifiedAs: { a: { $gt: 5 } },
              reason: 'comparison failed',
              consideredValues: [1, 2],
            },
          },
        ],
      },
    ],
    [
      { $nor: [{ a: 1 }, { $jsonSchema: { required: ['a'] } }] },
      { _id: 1, a: 2 },
      {
        operatorName: '$nor',
        clausesSatisfied: [{ index: 1, details: { operatorName: '$jsonSchema', reason: 'schema matched' } }],
      },
    ],
    [
      { a: { $not: { $regex: 'x', $options: 'i' } } },
      { _id: 1, a: 'X' },
      {
        operatorName: '$not',
        details: {
          operatorName: '$regex',
          specifiedAs: { a: { $regex: 'x', $options: 'i' } },
          reason: 'regular expression did match',
          consideredValue: 'X',
        },
      },
    ],
    [
      { a: { $size: 2 } },
      { _id: 1, a: 5 },
      {
        operatorName: '$size',
        specifiedAs: { a: { $size: 2 } },
        reason: 'type did not match',
        consideredType: 'int',
        expectedType: 'array',
        consideredValue: 5,
      },
    ],
    [
      { $expr: { $eq: ['$a', { $divide: [1, '$b'] }] } },
      { _id: 1, a: 1, b: 2 },
      {
        operatorName: '$expr',
        specifiedAs: { $expr: { $eq: ['$a', { $divide: [1, '$b'] }] } },
        reason: 'expression did not match',
        expressionResult: false,
      },
    ],
  ]
  for (const [validator, document, details] of cases) {
    const items = await validated({ validator })
    assert.deepEqual((await refusal(items.insertOne(document))).details, details)
  }
  const dividing = await validated({ validator: { $expr: { $divide: [10, 0] } } })
  const { details } = await refusal(dividing.insertOne({ _id: 1 }))
  assert.equal(details.reason, 'failed to evaluate aggregation expression')
  assert.match(details.details.errmsg, /divide by zero/)
})

test('A report that would be too large says less', async () => {
  const items = await validated({ validator: { text: { $type: 'int' } } })
  const large = await refusal(items.insertOne({ _id: 1, text: 'x'.repeat(13_000_000) }))
  assert.deepEqual(large, {
    failingDocumentId: 1,
    truncated: true,
    details: { operatorName: '$type', reason: 'type did not match', consideredType: 'string' },
  })
})

test('validationLevel, validationAction and the validator are changed by collMod and shown', async () => {
  const items = await validated(mustHaveA)
  const { db: database } = items
  const options = async () => ((await database.listCollections({ name: 'items' }).toArray())[0] as Document).options
  const change = (changes: Document) => database.command({ collMod: 'items', ...changes })
  assert.deepEqual(await options(), mustHaveA)
  await change({ validationLevel: 'off' })
  await items.insertOne({ _id: 1, n: 1 })
  assert.deepEqual(await options(), { ...mustHaveA, validationLevel: 'off', validationAction: 'error' })
  await change({ validationLevel: 'moderate' })
  await items.updateOne({ _id: 1 }, { $set: { n: 2 } })
  await items.insertOne({ _id: 2, a: 1 })
  await refusal(items.updateOne({ _id: 2 }, { $unset: { a: 1 } }))
  await refusal(items.insertOne({ _id: 3 }))
  await change({ validationLevel: 'strict' })
  await refusal(items.updateOne({ _id: 1 }, { $set: { n: 3 } }))
  await items.updateOne({ _id: 1 }, { $set: { a: 1 } })
  await change({ validationAction: 'warn' })
  await items.insertOne({ _id: 3 })
  await change({ validator: { b: { $exists: true } }, validationAction: 'error' })
  assert.deepEqual(await options(), {
    validator: { b: { $exists: true } },
    validationLevel: 'strict',
    validationAction: 'error',
  })
  await refusal(items.insertOne({ _id: 4, a: 1 }))
  await items.insertOne({ _id: 4, b: 1 })
  await change({ changeStreamPreAndPostImages: { enabled: true } })
  assert.deepEqual((await options()).validator, { b: { $exists: true } })
  await change({ validator: {} })
  await items.insertOne({ _id: 5 })
  assert.deepEqual(idsOf(await items.find().sort({ _id: 1 }).toArray()), [1, 2, 3, 4, 5])
})

test('bypassDocumentValidation writes what breaks the rules', async () => {
  const items = await validated(mustHaveA)
  const bypassDocumentValidation = true
  await items.insertOne({ _id: 1 }, { bypassDocumentValidation })
  await items.insertMany([{ _id: 2 }], { bypassDocumentValidation })
  await items.updateOne({ _id: 1 }, { $set: { n: 1 } }, { bypassDocumentValidation })
  await items.replaceOne({ _id: 2 }, { n: 1 }, { bypassDocumentValidation })
  await items.findOneAndUpdate({ _id: 1 }, { $inc: { n: 1 } }, { bypassDocumentValidation })
  await items.bulkWrite([{ updateOne: { filter: { _id: 1 }, update: { $inc: { n: 1 } } } }], {
    bypassDocumentValidation,
  })
  await items
    .aggregate([{ $match: { _id: 1 } }, { $set: { m: 1 } }, { $merge: 'items' }], { bypassDocumentValidation })
    .toArray()
  await items.aggregate([{ $match: { _id: 1 } }, { $out: 'items' }], { bypassDocumentValidation }).toArray()
  assert.deepEqual(await items.find().toArray(), [{ _id: 1, n: 3, m: 1 }])
  await refusal(items.insertOne({ _id: 3 }))
})

test('The rules hold in transactions, after a rename, for $out and after a restart', async () => {
  const items = await validated(mustHaveA)
  await client.withSession(async session => {
    session.startTransaction()
    await items.insertOne({ _id: 1, a: 1 }, { session })
    await refusal(items.insertOne({ _id: 2 }, { session }))
    await session.abortTransaction()
  })
  await items.insertOne({ _id: 1, a: 1 })
  await client.withSession(async session => {
    session.startTransaction()
    await refusal(items.updateOne({ _id: 1 }, { $unset: { a: 1 } }, { session }))
    await session.abortTransaction()
  })
  await items.aggregate([{ $set: { b: 1 } }, { $out: 'items' }]).toArray()
  await refusal(items.insertOne({ _id: 2 }))
  await items.rename('others')
  await refusal(items.db.collection<Item>('others').insertOne({ _id: 2 }))

  const data = temporaryDirectory()
  for (const isFirst of [true, false]) {
    await using opened = await mayfly({ data })
    await using connected = new MongoClient(opened.mongoUri!)
    if (isFirst) await connected.db('d').createCollection('items', mustHaveA)
    else await refusal(connected.db('d').collection<Item>('items').insertOne({ _id: 1 }))
  }
})

test('A validator that cannot work is refused', async () => {
  const database = newDatabase()
  const schema = ($jsonSchema: Document) => ({ $jsonSchema })
  const refused: readonly (readonly [options: Document, code: number, text: string])[] = [
    [{ validator: 7 }, 14, "BSON field 'create.validator' is the wrong type 'int', expected type 'object'"],
    [{ validator: { $nonsense: 1 } }, 2, 'unknown top level operator: $nonsense'],
    [{ validator: { a: { $near: [1, 2] } } }, 2, 'not allowed in this context'],
    [{ validator: { $where: '1' } }, 2, '$where is not allowed in this context'],
    [{ validator: { $expr: { $eq: ['$a', '$$unbound'] } } }, 17276, 'Use of undefined variable: unbound'],
    [{ validator: schema({ nonsense: 1 }) }, 9, 'Unknown $jsonSchema keyword: nonsense'],
    [{ validator: schema({ $ref: 'x' }) }, 9, "$jsonSchema keyword '$ref' is not currently supported"],
    [{ validator: schema({ required: true }) }, 14, "'required' must be an array, but found an element of type 8"],
    [{ validator: schema({ properties: { a: { type: 'integer' } } }) }, 9, "$jsonSchema type 'integer' is not"],
    [
      { validator: schema({ type: 'object', bsonType: 'object' }) },
      9,
      "Cannot specify both $jsonSchema keywords 'type'",
    ],
    [{ validator: schema({ bsonType: 'float' }) }, 2, 'Unknown type name alias: float'],
    [{ validator: schema({ properties: { a: { pattern: '(' } } }) }, 51091, 'Regular expression is invalid'],
    [{ validator: { a: 1 }, validationLevel: 'lax' }, 2, "'lax' for field 'create.validationLevel' is not a valid"],
    [{ validator: { a: 1 }, validationAction: 'x' }, 2, "'x' for field 'create.validationAction' is not a valid"],
  ]
  for (const [options, code, text] of refused) {
    const answer = await failure(database.command({ create: 'c', ...options }))
    assert.equal(answer.code, code, `${JSON.stringify(options)}: ${answer.message}`)
    assert.ok(answer.message.includes(text), answer.message)
  }
  await database.createCollection('c')
  const changed = await failure(database.command({ collMod: 'c', validator: schema({ type: 5 }) }))
  assert.equal(changed.code, 14)
  assert.match(changed.message, /^Parsing of collection validator failed :: caused by :: /)
  assert.equal((await failure(client.db('config').createCollection('c', { validator: { a: 1 } }))).code, 72)
})

test('$jsonSchema is an operator of queries', async () => {
  const items = newDatabase().collection<Item>('items')
  await items.insertMany([
    { _id: 1, n: 5, tags: ['x'] },
    { _id: 2, n: 'five', tags: [] },
    { _id: 3, n: Long.fromNumber(7) },
    { _id: 4, list: [{ k: 1 }, { k: 'y', v: 2 }] },
  ])
  const find = async (filter: Document) => idsOf(await items.find(filter).sort({ _id: 1 }).toArray())
  const number = { $jsonSchema: { properties: { n: { type: 'number' } }, required: ['n'] } }
  assert.deepEqual(await find(number), [1, 3])
  assert.deepEqual(await find({ $nor: [number] }), [2, 4])
  assert.deepEqual(await find({ $and: [number, { n: { $gt: 5 } }] }), [3])
  assert.deepEqual(await find({ list: { $elemMatch: { $jsonSchema: { required: ['v'] } } } }), [4])
  assert.equal(await items.countDocuments(number), 2)
  assert.deepEqual(idsOf(await items.aggregate([{ $match: number }, { $sort: { _id: 1 } }]).toArray()), [1, 3])
  assert.deepEqual(await find({ $jsonSchema: { properties: { tags: { minItems: 1 } }, required: ['tags'] } }), [1])
  assert.equal((await failure(items.find({ $jsonSchema: 5 }).toArray())).code, 14)
  assert.equal((await failure(items.find({ $jsonSchema: { nonsense: 1 } }).toArray())).code, 9)
})

test('A validator may speak of the present time', async () => {
  const items = await validated({ validator: { $expr: { $lt: ['$at', '$$NOW'] } } })
  const later = new Date(server.clock.now() * 1000 + 5000)
  await refusal(items.insertOne({ _id: 1, at: later }))
  await server.clock.advance('10s')
  await items.insertOne({ _id: 1, at: later })
})

test('A filter compares with the collation of the collection, a schema without', async () => {
  const collation = { locale: 'en', strength: 2 }
  const plain = await validated({ validator: { a: 'xyz' }, collation })
  await plain.insertOne({ _id: 1, a: 'XYZ' })
  await refusal(plain.insertOne({ _id: 2, a: 'xy' }))
  const schema = { $jsonSchema: { properties: { a: { enum: ['xyz'] } } } }
  const strict = await validated({ validator: schema, collation })
  await strict.insertOne({ _id: 1, a: 'xyz' })
  await refusal(strict.insertOne({ _id: 2, a: 'XYZ' }))
})
