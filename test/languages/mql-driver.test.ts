/**
 * Runs the cases of find, update and aggregate through the `mongodb` driver and a socket, and compares the
 * results byte by byte.
 *
 * A raw client inserts the documents, because a driver would change some of them. Results are taken raw from
 * the driver. The few filters that no driver can send go through the raw client, too.
 */

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { type Document, deserialize, EJSON, ObjectId, serialize, Timestamp } from 'bson'
import type { Db } from 'mongodb'
import { BsonDocument, int32, string, type Value } from '../../src/document/bson/value.ts'
import { encodeDocument } from '../../src/document/bson/writer.ts'
import { startMongo } from '../conformance/mongo/support/fixture.ts'
import { opMsg, RawClient, sequence } from '../conformance/mongo/support/raw-client.ts'
import { bytesOf, shown } from '../support/aggregate.ts'
import { type FindCase, readFindCases } from '../support/mql-cases.ts'
import { caseNow, type ExpressionCase, Failure, missing, type StageCase } from './mql/aggregate-case.ts'
import { expressionFamilies, stageFamilies, updateFamilies } from './mql/families.ts'
import { caseMs, caseObjectId, type UpdateCase } from './mql/update-case.ts'

const { db, uri, client, newDatabase } = await startMongo()
const raw = await RawClient.loggedIn(uri)
after(() => raw.close())

async function send(message: Buffer): Promise<Document> {
  raw.send(message)
  const reply = await raw.next()
  assert.ok(reply !== undefined)
  return reply.body
}

async function insert(database: Db, collection: string, documents: readonly Uint8Array[]): Promise<void> {
  if (documents.length === 0) return
  const body = serialize({ insert: collection, $db: database.databaseName })
  const { n, writeErrors } = await send(opMsg(body, { sections: [sequence('documents', documents)] }))
  assert.deepEqual([n, writeErrors], [documents.length, undefined])
}

/** The documents from the cursor of a command, as bytes. */
async function bytesFrom(database: Db, command: Document): Promise<Uint8Array[]> {
  const cursor = database.runCursorCommand(command, { raw: true })
  return (await cursor.toArray()) as unknown as Uint8Array[]
}

/** The bytes, except for NaN, whose sign depends on the processor. */
function exact(bytes: Uint8Array): string {
  const text = shown(bytes)
  return text.includes('NaN') ? text : Buffer.from(bytes).toString('hex')
}

function assertSame(is: readonly Uint8Array[], wanted: readonly Uint8Array[], isUnordered = false): void {
  const inOrder = (list: readonly string[]) => (isUnordered ? list.toSorted() : list)
  assert.deepEqual(inOrder(is.map(shown)), inOrder(wanted.map(shown)))
  assert.deepEqual(inOrder(is.map(exact)), inOrder(wanted.map(exact)))
}

async function refused(code: number, message: string, work: () => Promise<unknown>): Promise<void> {
  await assert.rejects(work, (error: Error & { code?: number }) => {
    assert.equal(error.code, code, error.stack)
    assert.ok(error.message.includes(message), error.message)
    return true
  })
}

/** The same value with the server's time in place of the time of the cases. */
function atServerTime(value: unknown): unknown {
  const seconds = db.clock.now()
  if (value instanceof Date) return value.getTime() === caseMs ? new Date(seconds * 1000) : value
  if (value instanceof Timestamp) return value.t === caseMs / 1000 ? new Timestamp({ t: seconds, i: 1 }) : value
  if (Array.isArray(value)) return value.map(atServerTime)
  if (value === null || typeof value !== 'object' || '_bsontype' in value || value instanceof Map) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, atServerTime(each)]))
}

const wantedBytes = (document: Document) => bytesOf(atServerTime(document) as Document)

// Finding

/** The command of a find, and whether a driver would send it unchanged. */
function findCommand({ filter, sort, projection, skip, limit }: FindCase): [command: BsonDocument, isSayable: boolean] {
  const fields: [string, Value | undefined][] = [
    ['find', string('items')],
    ['filter', filter],
    ['sort', sort],
    ['projection', projection],
    ['skip', skip === undefined ? undefined : int32(skip)],
    ['limit', limit === undefined ? undefined : int32(limit)],
  ]
  const command = BsonDocument.of(fields.filter((field): field is [string, Value] => field[1] !== undefined))
  const bytes = encodeDocument(command)
  return [command, Buffer.compare(bytesOf(said(bytes)), bytes) === 0]
}

function said(bytes: Uint8Array): Document {
  return deserialize(bytes, { promoteValues: false, bsonRegExp: true })
}

async function checkFind(database: Db, findCase: FindCase): Promise<void> {
  const { finds, gives, error, isOrdered } = findCase
  const [command, isSayable] = findCommand(findCase)
  const run = () => (isSayable ? bytesFrom(database, said(encodeDocument(command))) : foundByHand(database, command))
  if (error !== undefined) return refused(error.code, error.message ?? '', run)
  const rows = await run()
  if (gives !== undefined) assertSame(rows, gives)
  if (finds === undefined) return
  const ids = rows.map(row => deserialize(row)._id as number)
  const ascending = (list: readonly number[]) => list.toSorted((a, b) => a - b)
  assert.deepEqual(isOrdered ? ids : ascending(ids), isOrdered ? finds : ascending(finds))
}

async function foundByHand(database: Db, command: BsonDocument): Promise<Uint8Array[]> {
  const body = encodeDocument([...command.fields, ['$db', string(database.databaseName)]])
  const { code, errmsg, cursor } = await send(opMsg(body))
  if (code !== undefined) throw Object.assign(new Error(errmsg), { code })
  return cursor.firstBatch.map(({ _id }: Document) => serialize({ _id }))
}

for (const { file, documents, cases } of readFindCases()) {
  test(file, async t => {
    const database = newDatabase()
    await insert(database, 'items', documents)
    for (const findCase of cases) await t.test(findCase.name, () => checkFind(database, findCase))
  })
}

test('A driver can send nearly every filter', () => {
  const cases = readFindCases().flatMap(each => each.cases)
  const byHand = cases.filter(each => !findCommand(each)[1])
  assert.ok(byHand.length < cases.length / 20, byHand.map(({ name }) => name).join('\n'))
})

// Updating

const withId = (document: Document) => ('_id' in document ? document : { _id: 1, ...document })

async function checkUpdate(database: Db, updateCase: UpdateCase): Promise<void> {
  const { before, filter = {}, update, arrayFilters, after: then, isUnchanged, error } = updateCase
  await database.collection('items').deleteMany({})
  if (before !== undefined) await insert(database, 'items', [bytesOf(withId(before))])
  const { nModified, upserted, writeErrors } = await database.command({
    update: 'items',
    updates: [{ q: filter, u: update, ...(arrayFilters && { arrayFilters }), upsert: before === undefined }],
  })
  const rows = await bytesFrom(database, { find: 'items' })
  if (error !== undefined) {
    assert.equal(writeErrors?.[0].code, error[0], writeErrors?.[0].errmsg)
    assert.ok(writeErrors[0].errmsg.includes(error[1]), writeErrors[0].errmsg)
    return assertSame(rows, before === undefined ? [] : [bytesOf(withId(before))])
  }
  assert.equal(writeErrors, undefined, EJSON.stringify(writeErrors))
  let wanted = withId((isUnchanged === true ? before : then)!)
  const hasNewId = wanted._id instanceof ObjectId && wanted._id.toHexString() === caseObjectId
  if (hasNewId) wanted = { ...wanted, _id: upserted[0]._id }
  assertSame(rows, [isUnchanged === true ? bytesOf(wanted) : wantedBytes(wanted)])
  assert.equal(nModified, before === undefined || isUnchanged === true ? 0 : 1)
}

for (const [family, cases] of Object.entries(updateFamilies)) {
  test(`updates: ${family}`, async t => {
    const database = newDatabase()
    for (const updateCase of cases) await t.test(updateCase.name, () => checkUpdate(database, updateCase))
  })
}

// Aggregating

/** A document without an `_id` gets one when it is stored; the pipeline removes it first. */
async function checkExpression(database: Db, [expression, is, document = {}]: ExpressionCase, at: number) {
  const pipeline = [
    { $match: { _id: at } },
    ...('_id' in document ? [] : [{ $unset: '_id' }]),
    { $replaceWith: { v: expression } },
  ]
  const run = () => bytesFrom(database, { aggregate: 'items', pipeline, cursor: {} })
  if (is instanceof Failure) return refused(is.code, '', run)
  assertSame(await run(), [wantedBytes(is === missing ? {} : { v: is })])
}

for (const [family, operators] of Object.entries(expressionFamilies)) {
  describe(`expressions: ${family}`, () => {
    for (const [operator, cases] of Object.entries(operators)) {
      test(operator, async t => {
        const database = newDatabase()
        const documents = cases.map(([, , document = {}], _id) => bytesOf({ _id, ...document }))
        await insert(database, 'items', documents)
        for (const [at, each] of cases.entries()) {
          const name = EJSON.stringify(each[0], { relaxed: true })
          await t.test(name.slice(0, 250), () => checkExpression(database, each, at))
        }
      })
    }
  })
}

/** Documents without an `_id` get one that keeps their order; it is removed from the results again. */
const mark = 'ffffffffffffffff'

function marked(documents: readonly Document[]): Document[] {
  const idOf = (at: number) => new ObjectId(mark + at.toString(16).padStart(8, '0'))
  return documents.map((document, at) => ('_id' in document ? document : { _id: idOf(at), ...document }))
}

function unmarked(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(unmarked)
  if (value === null || typeof value !== 'object' || '_bsontype' in value || value instanceof Date) return value
  const isMark = (id: unknown) => id instanceof ObjectId && id.toHexString().startsWith(mark)
  const kept = Object.entries(value).filter(([name, each]) => name !== '_id' || !isMark(each))
  return Object.fromEntries(kept.map(([name, each]) => [name, unmarked(each)]))
}

const unmarkedBytes = (bytes: Uint8Array) =>
  Buffer.from(bytes).includes(Buffer.from(mark, 'hex')) ? bytesOf(unmarked(said(bytes)) as Document) : bytes

async function checkStage({ pipeline, documents = [], others = {}, writes = {}, ...stageCase }: StageCase) {
  const database = newDatabase()
  const { let: variables, results = [], error, isUnordered } = stageCase
  for (const [name, each] of Object.entries({ ...others, main: documents })) {
    await insert(database, name, marked(each).map(bytesOf))
  }
  const { $out, $merge } = pipeline.at(-1) ?? {}
  if ($merge?.on === 'k') await database.collection($merge.into).createIndex({ k: 1 }, { unique: true })
  const target = $out?.db === undefined ? database : client.db($out.db)
  const command = { aggregate: 'main', pipeline, cursor: {}, ...(variables && { let: variables }) }
  const run = () => bytesFrom(database, command)
  if (error !== undefined) return refused(error.code, '', run)
  assertSame((await run()).map(unmarkedBytes), results.map(wantedBytes), isUnordered)
  for (const [name, wanted] of Object.entries(writes)) {
    const written = await bytesFrom(target, { find: name })
    assertSame(written.map(unmarkedBytes), wanted.map(wantedBytes), true)
  }
}

for (const [family, stages] of Object.entries(stageFamilies)) {
  describe(family, () => {
    for (const [name, cases] of Object.entries(stages)) {
      test(name, async t => {
        for (const each of cases) await t.test(each.name, () => checkStage(each))
      })
    }
  })
}

test('All cases share one time', () => assert.equal(caseNow.getTime(), caseMs))
