/** Triggers as part of the write that names them, and user-defined functions in queries. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { idsOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

type Type = 'Pre' | 'Post'

async function withTriggers(
  ...triggers: [id: string, type: Type, operation: string, body: string][]
): Promise<Container> {
  const container = await server.newContainer({ defaultTtl: -1 })
  for (const [id, triggerType, triggerOperation, body] of triggers) {
    await container.scripts.triggers.create({ id, triggerType, triggerOperation, body } as never)
  }
  return container
}

const setsTtl =
  'function () { const r = getContext().getRequest(); const d = r.getBody(); d.ttl = 10; d.seen = ' +
  'r.getOperationType(); r.setBody(d) }'
const counts = `function () {
  const c = getContext().getCollection(), made = getContext().getResponse().getBody()
  const link = c.getAltLink() + '/docs/count'
  c.readDocument(link, (e, d) => {
    const next = e ? { id: 'count', pk: made.pk, n: 1 } : { ...d, n: d.n + 1 }
    c.upsertDocument(c.getSelfLink(), next, e => { if (e) throw e })
  })
}`

test('A pre-trigger can change the item that is written, including its ttl', async () => {
  const container = await withTriggers(['setsTtl', 'Pre', 'All', setsTtl])
  const options = { preTriggerInclude: ['setsTtl'] }
  const made = await container.items.create({ id: '1', pk: 'a' }, options)
  assert.equal(made.statusCode, 201)
  const { ttl, seen } = made.resource as { ttl?: number; seen?: string }
  assert.deepEqual([ttl, seen], [10, 'Create'])
  assert.deepEqual((await container.item('1', 'a').read()).resource, made.resource)
  const replaced = await container.item('1', 'a').replace({ id: '1', pk: 'a' }, options)
  assert.equal((replaced.resource as { seen?: string }).seen, 'Replace')
  const upserted = await container.items.upsert({ id: '1', pk: 'a' }, options)
  assert.equal(upserted.statusCode, 200)
  await server.db.clock.advance('10s')
  assert.equal((await container.item('1', 'a').read()).statusCode, 404)
  const plain = (await container.items.create({ id: '1', pk: 'a' })).resource as { ttl?: number }
  assert.equal(plain.ttl, undefined, 'nobody asked for it')
})

test('A post-trigger can write in the same transaction, or roll it back', async () => {
  const refuses =
    'function () { __.createDocument(__.getSelfLink(), { id: "trace", pk: "a" }, () => { throw new Error(77, "no") }) }'
  const container = await withTriggers(['counts', 'Post', 'All', counts], ['refuses', 'Post', 'Create', refuses])
  const { resource } = await container.items.create({ id: '1', pk: 'a' }, { postTriggerInclude: ['counts'] })
  assert.deepEqual((await container.item('1', 'a').read()).resource, resource)
  await container.items.create({ id: '2', pk: 'a' }, { postTriggerInclude: ['counts'] })
  assert.equal((await container.item('count', 'a').read()).resource?.n, 2)
  const failing = container.items.create({ id: '3', pk: 'a' }, { postTriggerInclude: ['refuses'] })
  await assert.rejects(failing, { code: 400, substatus: 77 })
  assert.deepEqual(idsOf(await readFeed(server, container)), ['1', '2', 'count'])
})

test('A delete trigger takes effect for a living item, and leaves nothing for a dead one', async () => {
  const notes =
    'function () { __.createDocument(__.getSelfLink(), { id: "gone", pk: "a", op: ' +
    'getContext().getRequest().getOperationType() }, e => { if (e) throw e }) }'
  const container = await withTriggers(['notes', 'Post', 'Delete', notes])
  const options = { postTriggerInclude: ['notes'] }
  await container.items.create({ id: '1', pk: 'a' })
  await container.items.create({ id: 'dead', pk: 'a', ttl: 5 })
  await server.db.clock.advance('5s')
  assert.equal(await failureOf(container.item('dead', 'a').delete(options)), 404)
  assert.deepEqual(idsOf(await readFeed(server, container)), ['1'], 'a trigger of a failed write leaves nothing')
  assert.equal((await container.item('1', 'a').delete(options)).statusCode, 204)
  assert.deepEqual(idsOf(await readFeed(server, container)), ['gone'])
})

test('Conditions and conflicts hold as without triggers', async () => {
  const container = await withTriggers(['setsTtl', 'Pre', 'All', setsTtl])
  const preTriggerInclude = ['setsTtl']
  const { etag } = await container.items.create({ id: '1', pk: 'a' })
  assert.equal(await failureOf(container.items.create({ id: '1', pk: 'a' }, { preTriggerInclude })), 409)
  const ifMatch = (condition: string) => ({ preTriggerInclude, accessCondition: { type: 'IfMatch', condition } })
  assert.equal(await failureOf(container.item('1', 'a').replace({ id: '1', pk: 'a' }, ifMatch('"x"'))), 412)
  assert.equal((await container.item('1', 'a').replace({ id: '1', pk: 'a' }, ifMatch(etag))).statusCode, 200)
  assert.equal(
    await failureOf(container.item('none', 'a').replace({ id: 'none', pk: 'a' }, { preTriggerInclude })),
    404,
  )
})

test('A trigger that cannot run stops the write', async () => {
  const badTtl = 'function () { const r = getContext().getRequest(); r.setBody({ ...r.getBody(), ttl: 0 }) }'
  const moves = 'function () { const r = getContext().getRequest(); r.setBody({ ...r.getBody(), pk: "b" }) }'
  const container = await withTriggers(
    ['badTtl', 'Pre', 'All', badTtl],
    ['moves', 'Pre', 'All', moves],
    ['throws', 'Pre', 'All', 'function () { throw new Error("no") }'],
    ['onlyDelete', 'Pre', 'Delete', 'function () {}'],
    ['after', 'Post', 'All', 'function () {}'],
  )
  for (const name of ['badTtl', 'moves', 'throws', 'onlyDelete', 'after', 'none']) {
    assert.equal(
      await failureOf(container.items.create({ id: '1', pk: 'a' }, { preTriggerInclude: [name] })),
      400,
      name,
    )
  }
  assert.deepEqual(await readFeed(server, container), [])
})

test('A query calls user-defined functions with the values of its rows', async () => {
  const container = await server.newContainer({ throughput: 20_000, defaultTtl: -1 })
  const functions = container.scripts.userDefinedFunctions
  await functions.create({ id: 'tax', body: 'function (x) { return x === undefined ? undefined : x * 1.5 }' })
  await functions.create({ id: 'isOdd', body: 'x => x % 2 === 1' })
  await functions.create({ id: 'fails', body: 'function () { throw new Error(99, "no") }' })
  await functions.create({ id: 'spins', body: 'function () { while (true) {} }' })
  for (let n = 0; n < 10; n++)
    await container.items.create({ id: String(n), pk: `p${n % 3}`, n, ttl: n === 9 ? 5 : -1 })
  await server.db.clock.advance('5s')
  // biome-ignore lint/suspicious/noExplicitAny: rows of every shape.
  const ask = async (query: string): Promise<any[]> => (await container.items.query(query).fetchAll()).resources
  assert.deepEqual(
    (await ask('SELECT VALUE udf.tax(c.n) FROM c WHERE udf.isOdd(c.n)')).toSorted((a, b) => a - b),
    [1.5, 4.5, 7.5, 10.5],
  )
  assert.deepEqual(await ask('SELECT VALUE udf.tax(c.n) FROM c WHERE c.pk = "p1" ORDER BY c.n'), [1.5, 6, 10.5])
  assert.deepEqual(await ask('SELECT udf.tax(c.missing) AS t FROM c WHERE c.id = "1"'), [{}])
  assert.deepEqual(await ask('SELECT VALUE udf.tax(2)'), [3])
  const fails = container.items.query('SELECT VALUE udf.fails(c.n) FROM c').fetchAll()
  await assert.rejects(fails, { code: 400 })
  assert.equal(await failureOf(container.items.query('SELECT VALUE udf.none(c.n) FROM c').fetchAll()), 400)
  assert.equal(await failureOf(container.items.query('SELECT VALUE udf.spins(c.n) FROM c').fetchAll()), 408)
  assert.equal((await container.item('1', 'p1').read()).statusCode, 200)
  await container.scripts.userDefinedFunction('tax').replace({ id: 'tax', body: 'x => x' })
  assert.deepEqual(await ask('SELECT VALUE udf.tax(2)'), [2])
})

test('Queries with functions have pages like other queries, and work in stored procedures', async () => {
  const container = await server.newContainer()
  await container.scripts.userDefinedFunctions.create({ id: 'double', body: 'x => x * 2' })
  for (let n = 0; n < 7; n++) await container.items.create({ id: String(n), pk: 'a', n })
  const iterator = container.items.query('SELECT VALUE udf.double(c.n) FROM c', { maxItemCount: 3, partitionKey: 'a' })
  assert.deepEqual((await iterator.fetchAll()).resources, [0, 2, 4, 6, 8, 10, 12])
  const body =
    'function () { __.queryDocuments(__.getSelfLink(), "SELECT VALUE udf.double(c.n) FROM c WHERE c.n > 4", (e, ' +
    'r) => { if (e) throw e; getContext().getResponse().setBody(r) }) }'
  await container.scripts.storedProcedures.create({ id: 'p', body })
  assert.deepEqual((await container.scripts.storedProcedure('p').execute('a', [])).resource, [10, 12])
})
