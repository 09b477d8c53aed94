import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { call } from '../support/signed-request.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

for (const place of ['memory', 'a directory'] as const) {
  test(`a snapshot in ${place} brings back items with etag, time and deadline, and nothing else`, async () => {
    const db = await mayfly({ clock: 'manual', ...(place === 'memory' ? {} : { data: temporaryDirectory() }) })
    after(() => db.close())
    const client = newClient(db)
    const { database } = await client.databases.create({ id: 'shop' })
    const uniqueKeyPolicy = { uniqueKeys: [{ paths: ['/code'] }] }
    const definition = { id: 'carts', partitionKey: '/pk', defaultTtl: 100, uniqueKeyPolicy }
    const { container } = await database.containers.create(definition)
    await container.items.create({ id: 'stays', pk: 'p', code: 1 })
    await container.items.create({ id: 'dies', pk: 'p', code: 2, ttl: 10 })
    await container.scripts.userDefinedFunctions.create({ id: 'f', body: 'function f() { return 1 }' })
    const mongo = await MongoClient.connect(db.mongoUri!)
    after(() => mongo.close())
    const docs = mongo.db('support').collection('tickets')
    await docs.createIndex({ status: 1 })
    await docs.createIndex({ code: 1 }, { unique: true })
    // So that the numbers of the indexes have a gap.
    await docs.dropIndex('status_1')
    await docs.insertMany([{ code: 1 }, { code: 2 }])
    const before = await container.item('stays', 'p').read()

    const snapshot = await db.snapshot()
    await db.clock.advance('5s')
    await container.item('stays', 'p').replace({ id: 'stays', pk: 'p', code: 9 })
    await container.items.create({ id: 'new', pk: 'p', code: 3 })
    await docs.deleteMany({})
    await client.databases.create({ id: 'other' })
    await db.clock.advance('5s')

    for (let round = 0; round < 2; round++) {
      await db.restore(snapshot)
      const { resources } = await container.items.readAll().fetchAll()
      assert.deepEqual(
        resources.map(({ id }) => id),
        ['stays'],
      )
      const again = await container.item('stays', 'p').read()
      assert.deepEqual(again.resource, before.resource)
      const databases = (await client.databases.readAll().fetchAll()).resources.map(({ id }) => id)
      assert.deepEqual(databases.sort(), ['shop', 'support'])
      assert.deepEqual((await docs.find().toArray()).map(({ code }) => code).sort(), [1, 2])
      assert.equal((await docs.find({ code: 2 }).hint({ code: 1 }).toArray()).length, 1)
      await assert.rejects(docs.insertOne({ code: 1 }), /E11000/)
      await assert.rejects(container.items.create({ id: 'x', pk: 'p', code: 1 }), { code: 409 })
      await container.items.create({ id: 'x', pk: 'p', code: 7 })
      assert.equal((await container.scripts.userDefinedFunctions.readAll().fetchAll()).resources.length, 1)
    }
    const { secondsLeft } = await db.ttl.explain('shop', 'carts', { id: 'stays', partitionKey: 'p' })
    assert.equal(secondsLeft, 90)
    await db.clock.advance('90s')
    assert.equal((await container.item('stays', 'p').read()).statusCode, 404)
    await db.restore(snapshot)
    assert.deepEqual((await container.items.readAll().fetchAll()).resources, [])
  })
}

test('restores and resets that come at once go one after the other', async () => {
  const db = await mayfly({ clock: 'manual' })
  after(() => db.close())
  const client = newClient(db)
  const { database } = await client.databases.create({ id: 'shop' })
  const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk' })
  const large = 'x'.repeat(500_000)
  for (let at = 0; at < 12; at++) await container.items.create({ id: `${at}`, pk: 'p', large })
  const snapshot = await db.snapshot()
  await Promise.all([db.restore(snapshot), db.restore(snapshot), db.reset(), db.restore(snapshot), db.snapshot()])
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 12)
  await Promise.all([db.restore(snapshot), db.reset()])
  assert.deepEqual((await client.databases.readAll().fetchAll()).resources, [])
})

test('snapshots over HTTP: keep, list, restore, drop; wrong names are refused', async () => {
  const db = await mayfly({ clock: 'manual' })
  after(() => db.close())
  const snapshot = (body: unknown) => call(db.endpoint, 'POST', '/_mayfly/snapshot', { body })
  await newClient(db).databases.create({ id: 'shop' })
  assert.equal((await snapshot({ keep: 'empty-shop' })).json.name, 'empty-shop')
  assert.equal((await call(db.endpoint, 'POST', '/_mayfly/reset')).status, 204)
  assert.equal((await snapshot({ restore: 'empty-shop' })).status, 200)
  assert.equal((await newClient(db).database('shop').read()).statusCode, 200)
  const { json } = await call(db.endpoint, 'GET', '/_mayfly/snapshot')
  assert.deepEqual(
    json.snapshots.map(({ name }: { name: string }) => name),
    ['empty-shop'],
  )
  assert.deepEqual((await snapshot({ drop: 'empty-shop' })).json, { dropped: 'empty-shop' })
  for (const [body, status] of [
    [{ restore: 'none' }, 404],
    [{ drop: 'none' }, 404],
    [{ keep: '../x' }, 400],
    [{ keep: 5 }, 400],
    [{}, 400],
    [{ keep: 'a', drop: 'a' }, 400],
  ] as const) {
    assert.equal((await snapshot(body)).status, status, JSON.stringify(body))
  }
  for (let at = 0; at < 16; at++) assert.equal((await snapshot({ keep: `s${at}` })).status, 200)
  assert.equal((await snapshot({ keep: 'more' })).status, 400)
})
