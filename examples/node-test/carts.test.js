// Run with: node --test
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { CosmosClient } from '@azure/cosmos'
import { mayfly } from 'mayfly'

let db, carts
before(async () => {
  db = await mayfly({ clock: 'manual' })
})
after(() => db.close())
beforeEach(async () => {
  await db.reset()
  const client = new CosmosClient({ endpoint: db.endpoint, key: db.key })
  const { database } = await client.databases.create({ id: 'shop' })
  carts = (await database.containers.create({ id: 'carts', partitionKey: '/customer', defaultTtl: 3600 })).container
})

test('a cart is gone after an hour', async () => {
  await carts.items.create({ id: 'c1', customer: 'ann' })
  await db.clock.advance('1h')
  const { statusCode } = await carts.item('c1', 'ann').read()
  assert.equal(statusCode, 404)
})
