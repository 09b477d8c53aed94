/** What a program does with Mayfly through @azure/cosmos, the official client for JavaScript. */

import assert from 'node:assert/strict'
import { ChangeFeedStartFrom, type Container, CosmosClient, PermissionMode } from '@azure/cosmos'
import { absent, step } from './report.ts'

interface Cart {
  id: string
  customer: string
  total?: number
  ttl?: number
}

const endpoint = process.env.COSMOS_ENDPOINT!
const client = new CosmosClient({ endpoint, key: process.env.COSMOS_KEY! })
const database = client.database('shop')
const carts = database.container('carts')
const orders = database.container('orders')

/** The status that the service refuses a call with. */
function refusal(call: Promise<unknown>): Promise<unknown> {
  return call.then(
    () => undefined,
    error => error.code,
  )
}

/** Moves the clock of Mayfly, which stands still otherwise. */
async function advanceClock(duration: string): Promise<void> {
  const headers = { 'content-type': 'application/json' }
  const body = JSON.stringify({ advance: duration })
  const answer = await fetch(new URL('/_mayfly/clock', endpoint), { method: 'POST', headers, body })
  assert.equal(answer.status, 200)
}

// Databases and containers

await step('database', async () => {
  await client.databases.create({ id: 'shop' })
  const { resources } = await client.databases.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['shop'],
  )
})

await step('container-ttl', async () => {
  await database.containers.create({ id: 'carts', partitionKey: '/customer', defaultTtl: 3600 })
  const { resource } = await carts.read()
  assert.equal(resource?.defaultTtl, 3600)
})

await step('partitions', async () => {
  await database.containers.create({ id: 'orders', partitionKey: '/customer', throughput: 20_000 })
  const { resources: ranges } = await orders.readPartitionKeyRanges().fetchAll()
  assert.ok(ranges.length >= 2)
  for (let n = 0; n < 40; n++) await orders.items.create({ id: `o${n}`, customer: `c${n % 8}`, total: n })
})

// Items

await step('create', async () => {
  const { resource } = await carts.items.create<Cart>({ id: 'cart1', customer: 'ann', total: 10 })
  assert.equal(resource?.total, 10)
})

await step('read', async () => {
  const { resource } = await carts.item('cart1', 'ann').read<Cart>()
  assert.equal(resource?.total, 10)
})

await step('replace', async () => {
  const { resource } = await carts.item('cart1', 'ann').replace<Cart>({ id: 'cart1', customer: 'ann', total: 20 })
  assert.equal(resource?.total, 20)
})

await step('upsert', async () => {
  const changed = await carts.items.upsert<Cart>({ id: 'cart1', customer: 'ann', total: 30 })
  assert.equal(changed.statusCode, 200)
  const created = await carts.items.upsert<Cart>({ id: 'cart2', customer: 'ann', total: 5 })
  assert.equal(created.statusCode, 201)
})

await step('delete', async () => {
  await carts.item('cart2', 'ann').delete()
  const { statusCode } = await carts.item('cart2', 'ann').read()
  assert.equal(statusCode, 404)
})

absent('by-object', 'items are always named by id and partition key')

absent('read-many', 'the client has no call for it; query by id instead')

await step('item-ttl', async () => {
  await carts.items.create<Cart>({ id: 'short', customer: 'ann', ttl: 30 })
  const { resource } = await carts.item('short', 'ann').read<Cart>()
  assert.equal(resource?.ttl, 30)
})

await step('etag', async () => {
  const { item, etag } = await carts.items.create<Cart>({ id: 'tagged', customer: 'ann' })
  const accessCondition = { type: 'IfMatch', condition: etag }
  await item.replace({ id: 'tagged', customer: 'ann', total: 1 }, { accessCondition })
  assert.equal(await refusal(item.replace({ id: 'tagged', customer: 'ann', total: 2 }, { accessCondition })), 412)
})

await step('unique-key', async () => {
  const { container } = await database.containers.create({
    id: 'members',
    partitionKey: '/club',
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] },
  })
  await container.items.create({ id: '1', club: 'chess', email: 'ann@example.com' })
  assert.equal(await refusal(container.items.create({ id: '2', club: 'chess', email: 'ann@example.com' })), 409)
})

await step('patch', async () => {
  const { item } = await carts.items.create({ id: 'patched', customer: 'ann', total: 1, coupons: ['a'] })
  const { resource } = await item.patch([
    { op: 'incr', path: '/total', value: 2 },
    { op: 'add', path: '/coupons/-', value: 'b' },
    { op: 'set', path: '/paid', value: true },
  ])
  assert.deepEqual([resource?.total, resource?.coupons, resource?.paid], [3, ['a', 'b'], true])
})

await step('batch', async () => {
  const done = await carts.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'batch1', customer: 'bob' } },
      { operationType: 'Upsert', resourceBody: { id: 'batch2', customer: 'bob' } },
    ],
    'bob',
  )
  assert.deepEqual(
    done.result?.map(({ statusCode }) => statusCode),
    [201, 201],
  )
  const undone = await carts.items.batch(
    [
      { operationType: 'Delete', id: 'batch1' },
      { operationType: 'Create', resourceBody: { id: 'batch2', customer: 'bob' } },
    ],
    'bob',
  )
  assert.deepEqual(
    undone.result?.map(({ statusCode }) => statusCode),
    [424, 409],
  )
  assert.equal((await carts.item('batch1', 'bob').read()).statusCode, 200)
})

await step('bulk', async () => {
  const answers = await carts.items.executeBulkOperations(
    Array.from({ length: 100 }, (_, n) => ({
      operationType: 'Create',
      partitionKey: `bulk${n % 7}`,
      resourceBody: { id: `bulk${n}`, customer: `bulk${n % 7}` },
    })),
  )
  assert.deepEqual([...new Set(answers.map(({ response }) => response?.statusCode))], [201])
  assert.equal(answers.length, 100)
})

// Queries

await step('query-partition', async () => {
  const query = 'SELECT VALUE c.total FROM c WHERE c.total > 20 ORDER BY c.total DESC'
  const { resources } = await orders.items.query<number>(query, { partitionKey: 'c1' }).fetchAll()
  assert.deepEqual(resources, [33, 25])
})

await step('query-parameters', async () => {
  const query = 'SELECT VALUE c.id FROM c WHERE c.customer = @customer AND c.total < @limit'
  const parameters = [
    { name: '@customer', value: 'c2' },
    { name: '@limit', value: 10 },
  ]
  const { resources } = await orders.items.query<string>({ query, parameters }).fetchAll()
  assert.deepEqual(resources, ['o2'])
})

await step('query-across', async () => {
  const { resources } = await orders.items.query<Cart>('SELECT * FROM c WHERE c.total >= 30').fetchAll()
  assert.equal(resources.length, 10)
})

await step('order-by', async () => {
  const query = 'SELECT VALUE c.total FROM c WHERE c.total >= 35 ORDER BY c.total DESC'
  const { resources } = await orders.items.query<number>(query).fetchAll()
  assert.deepEqual(resources, [39, 38, 37, 36, 35])
})

await step('aggregates', async () => {
  const { resources: sums } = await orders.items.query<number>('SELECT VALUE SUM(c.total) FROM c').fetchAll()
  assert.deepEqual(sums, [780])
})

await step('group-by', async () => {
  const query = 'SELECT c.customer, COUNT(1) AS orders FROM c GROUP BY c.customer'
  const { resources: groups } = await orders.items.query<{ orders: number }>(query).fetchAll()
  assert.equal(groups.length, 8)
  assert.ok(groups.every(group => group.orders === 5))
})

const pageSizes = [3, 10]

/** Reads a query page by page. Each page has an iterator of its own: the token is all that is kept. */
async function readPages(query: string, maxItemCount: number, partition = {}): Promise<Cart[]> {
  const seen: Cart[] = []
  let continuationToken: string | undefined
  for (let page = 0; page < 40; page++) {
    const options = { maxItemCount, continuationToken, enableQueryControl: true, ...partition }
    const answer = await orders.items.query<Cart>(query, options as never).fetchNext()
    assert.ok((answer.resources ?? []).length <= maxItemCount)
    seen.push(...(answer.resources ?? []))
    continuationToken = answer.continuationToken
    if (continuationToken === undefined) return seen
  }
  throw new Error('the pages do not end')
}

await step('paging', async () => {
  for (const size of pageSizes) {
    const seen = await readPages('SELECT * FROM c', size)
    assert.equal(seen.length, 40)
    assert.equal(new Set(seen.map(({ id }) => id)).size, 40)
  }
})

await step('paging-order-by', async () => {
  for (const size of pageSizes) {
    const seen = await readPages('SELECT * FROM c ORDER BY c.total', size, { partitionKey: 'c1' })
    assert.deepEqual(
      seen.map(({ total }) => total),
      [1, 9, 17, 25, 33],
    )
  }
})

await step('paging-order-by-across', async () => {
  for (const size of pageSizes) {
    const seen = await readPages('SELECT * FROM c ORDER BY c.total', size)
    assert.deepEqual(
      seen.map(({ total }) => total),
      Array.from({ length: 40 }, (_, n) => n),
    )
  }
})

// Change feed

/** Reads the feed of a container until it has nothing new. */
async function readFeed(container: Container, changeFeedStartFrom: ChangeFeedStartFrom) {
  const iterator = container.items.getChangeFeedIterator<{ id: string }>({ changeFeedStartFrom })
  const ids: string[] = []
  while (true) {
    const page = await iterator.readNext()
    if (page.statusCode === 304) return { ids, continuation: page.continuationToken }
    ids.push(...page.result.map(({ id }) => id))
  }
}

await step('change-feed', async () => {
  const { container } = await database.containers.create({ id: 'events', partitionKey: '/customer' })
  await container.items.create({ id: '1', customer: 'ann' })
  await container.items.create({ id: '2', customer: 'bob' })
  await container.items.upsert({ id: '1', customer: 'ann', changed: true })
  const first = await readFeed(container, ChangeFeedStartFrom.Beginning())
  assert.deepEqual(first.ids, ['2', '1'])
  await container.items.create({ id: '3', customer: 'ann' })
  const next = await readFeed(container, ChangeFeedStartFrom.Continuation(first.continuation))
  assert.deepEqual(next.ids, ['3'])
})

await step('change-feed-across', async () => {
  const { ids } = await readFeed(orders, ChangeFeedStartFrom.Beginning())
  assert.equal(new Set(ids).size, 40)
  assert.equal(ids.length, 40)
})

absent('change-feed-processor', 'the client reads the feed by iterator only')
absent('change-feed-processor-metadata', 'the client reads the feed by iterator only')

// Throughput

await step('throughput', async () => {
  const { resource, offer } = await orders.readOffer()
  assert.equal(resource?.content?.offerThroughput, 20_000)
  const content = { ...resource.content, offerThroughput: 21_000 }
  await offer!.replace({ ...resource, content })
  assert.equal((await orders.readOffer()).resource?.content?.offerThroughput, 21_000)
})

// Scripts

await step('stored-procedure', async () => {
  const body = 'function (name) { getContext().getResponse().setBody("hello " + name) }'
  await carts.scripts.storedProcedures.create({ id: 'greet', body })
  const { resource } = await carts.scripts.storedProcedure('greet').execute('ann', ['Ann'])
  assert.equal(resource, 'hello Ann')
})

await step('trigger', async () => {
  const body = `function () {
    const request = getContext().getRequest(), item = request.getBody()
    item.checked = true
    request.setBody(item)
  }`
  await carts.scripts.triggers.create({
    id: 'check',
    body,
    triggerType: 'Pre',
    triggerOperation: 'Create',
  } as never)
  const { resource } = await carts.items.create({ id: 't', customer: 'ann' }, { preTriggerInclude: ['check'] })
  assert.equal((resource as { checked?: boolean }).checked, true)
})

await step('user-defined-function', async () => {
  const body = 'function (total) { return total * 1.2 }'
  await orders.scripts.userDefinedFunctions.create({ id: 'withTax', body })
  const query = "SELECT VALUE udf.withTax(c.total) FROM c WHERE c.id = 'o10'"
  const { resources } = await orders.items.query<number>(query).fetchAll()
  assert.deepEqual(resources, [12])
})

// Users, permissions and resource tokens

await step('users', async () => {
  const { user } = await database.users.create({ id: 'ann' })
  await user.permissions.create({ id: 'read-carts', permissionMode: PermissionMode.Read, resource: carts.url })
  const { resources } = await user.permissions.readAll().fetchAll()
  assert.deepEqual(
    resources.map(({ id }) => id),
    ['read-carts'],
  )
})

await step('resource-token', async () => {
  const { resource } = await database.user('ann').permission('read-carts').read()
  const resourceTokens = { carts: (resource as unknown as { _token: string })._token }
  const connectionPolicy = { enableEndpointDiscovery: false }
  const guest = new CosmosClient({ endpoint, resourceTokens, connectionPolicy }).database('shop').container('carts')
  assert.equal((await guest.item('cart1', 'ann').read()).statusCode, 200)
  assert.equal(await refusal(guest.items.create({ id: 'no', customer: 'ann' })), 403)
})

// Expiry by the manual clock

const sessions = database.container('sessions')

await step('expiry-read', async () => {
  await database.containers.create({ id: 'sessions', partitionKey: '/user', defaultTtl: 60 })
  await sessions.items.create({ id: 'default', user: 'ann' })
  await sessions.items.create({ id: 'longer', user: 'ann', ttl: 90 })
  await advanceClock('59s')
  assert.equal((await sessions.item('default', 'ann').read()).statusCode, 200)
  await advanceClock('1s')
  assert.equal((await sessions.item('default', 'ann').read()).statusCode, 404)
  assert.equal((await sessions.item('longer', 'ann').read()).statusCode, 200)
})

await step('expiry-query', async () => {
  const { resources } = await sessions.items.query<string>('SELECT VALUE c.id FROM c').fetchAll()
  assert.deepEqual(resources, ['longer'])
})

await step('expiry-feed', async () => {
  const { ids } = await readFeed(sessions, ChangeFeedStartFrom.Beginning())
  assert.deepEqual(ids, ['longer'])
})

// The connection

absent('binary-json', 'the client sends and reads JSON as text')
absent('http2', 'the client speaks HTTP/1.1')

await step('https', async () => {
  // NODE_EXTRA_CA_CERTS names the certificate that "mayfly cert" writes.
  const secure = new CosmosClient({ endpoint: endpoint.replace('http:', 'https:'), key: process.env.COSMOS_KEY! })
  const { resource } = await secure.database('shop').container('carts').item('cart1', 'ann').read<Cart>()
  assert.equal(resource?.id, 'cart1')
  secure.dispose()
})

await step('delete-database', async () => {
  await database.delete()
  assert.equal(await refusal(database.read()), 404)
})

client.dispose()
