/** The log of slow queries, and that of all requests at level debug, of a server as its own process. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type Document, MongoClient } from 'mongodb'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { type Served, serveCli } from '../support/run-cli.ts'
import { send } from '../support/signed-request.ts'
import { newClient } from '../support/start-server.ts'

// biome-ignore lint/suspicious/noExplicitAny: the lines are what the tests look at.
type Line = any

async function linesOf(server: Served, message: string): Promise<Line[]> {
  const { stderr } = await server.stop()
  const lines = stderr.split('\n').filter(line => line.startsWith('{'))
  return lines.map(line => JSON.parse(line)).filter(({ msg }: Line) => msg === message)
}

const flags = ['--memory', '--port', '0', '--json']

/** As many steps as there are elements, squared: for ever. */
const million = { $range: [0, 1_000_000] }
const endless = {
  $size: { $filter: { input: million, as: 'x', cond: { $in: [-1, { $concatArrays: [million, ['$$x']] }] } } },
}

test('Slow pages are logged with plan and cost, also those that a time limit ended, and those of threads', async () => {
  const server = await serveCli([...flags, '--slow-query-ms', '100'])
  const { database } = await newClient({ endpoint: server.endpoint, key: wellKnownKey }).databases.create({ id: 'sql' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/id' })
  await container.items.create({ id: 'secret', n: 1 })
  const list = `(SELECT VALUE [${Array.from({ length: 700 }, (_, n) => n)}])`
  const slow = `SELECT VALUE COUNT(1) FROM c JOIN y IN ${list} JOIN z IN ${list} WHERE c.n = @n AND y = z`
  const { resources } = await container.items.query({ query: slow, parameters: [{ name: '@n', value: 1 }] }).fetchAll()
  assert.deepEqual(resources, [700])

  await using mongo = new MongoClient(server.ready.mongoUri)
  const db = mongo.db('mql')
  await db.collection<Document>('items').insertOne({ _id: 'secret' as never, a: 1 })
  const ended = { code: 50 }
  await assert.rejects(db.collection('items').findOne({ $expr: { $eq: [-1, endless] } }, { maxTimeMS: 300 }), ended)
  const joined = [{ $lookup: { from: 'items', localField: 'a', foreignField: 'a', as: 'b' } }, { $set: { c: endless } }]
  await assert.rejects(db.collection('items').aggregate(joined, { maxTimeMS: 300 }).toArray(), ended)

  const lines = await linesOf(server, 'a page of a query was slow')
  assert.doesNotMatch(JSON.stringify(lines), /secret/)
  for (const { ms } of lines) assert.ok(ms >= 100)
  const of = (name: string) => lines.filter(({ container }) => container === name)
  const [sql] = of('sql/carts')
  assert.partialDeepStrictEqual(sql, { plan: 'scan', indexWished: '/n/?', itemsRead: 1, rows: 1 })
  assert.ok(sql.chargeRu > 0)
  // The client sends the query as its plan has rewritten it.
  assert.match(sql.query, /^SELECT VALUE .*COUNT\(1\).*\sFROM c\sJOIN y IN /)
  const kinds = of('mql/items').map(({ query, failed }) => [query, failed])
  assert.deepEqual(kinds, [
    ['find', 'MaxTimeMSExpired'],
    ['pipeline', 'MaxTimeMSExpired'],
  ])
})

test('At level debug every request is logged, with its cost and time, without bodies and headers', async () => {
  const server = await serveCli([...flags, '--log-level', 'debug'])
  const { endpoint } = server
  const request = { method: 'POST', path: '/dbs', body: { id: 'shop' }, headers: { 'x-own': 'secret' } }
  assert.equal((await send({ endpoint, key: wellKnownKey }, request)).status, 201)
  assert.equal((await send({ endpoint, key: wellKnownKey }, { path: '/dbs/none' })).status, 404)
  await using mongo = new MongoClient(server.ready.mongoUri)
  await mongo.db('zoo').collection('pets').insertOne({ name: 'secret' })
  await mongo.close()
  const lines = await linesOf(server, 'answered')
  assert.doesNotMatch(JSON.stringify(lines), /secret/)
  const found = (operation: string) => lines.find(line => line.operation === operation)
  assert.partialDeepStrictEqual(found('create dbs'), { protocol: 'nosql', target: '/dbs', status: 201 })
  assert.partialDeepStrictEqual(found('read dbs'), { target: '/dbs/none', status: 404 })
  assert.partialDeepStrictEqual(found('insert'), { protocol: 'mongo', target: 'zoo', status: 0 })
  for (const { ms } of lines) assert.ok(ms > 0)
  assert.ok(found('insert').chargeRu > 0)
})

test('At level info no request is logged', async () => {
  const server = await serveCli(flags)
  await send({ endpoint: server.endpoint, key: wellKnownKey }, { path: '/dbs' })
  assert.deepEqual(await linesOf(server, 'answered'), [])
})
