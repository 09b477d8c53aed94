/** What every operation answers about a dead item, removed or not. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { call } from '../../support/signed-request.ts'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()
const { clock } = server.db
await server.admin('POST', 'purge', { pause: true })

interface Dead {
  readonly container: Container
  readonly etag: string
  readonly rid: string
}

/** A container with a dead item `one`, by its own ttl or by the default, and a living one `two`. */
async function deadItem(by: 'own' | 'inherited'): Promise<Dead> {
  const container = await server.newContainer({ defaultTtl: by === 'own' ? -1 : 10 })
  const own = by === 'own' ? { ttl: 10 } : {}
  const { resource } = await container.items.create({ id: 'one', pk: 'a', v: 1, list: [1], ...own })
  await container.items.create({ id: 'two', pk: 'a', v: 2, list: [1], ttl: -1 })
  await clock.advance('10s')
  return { container, etag: resource!._etag, rid: resource!._rid }
}

const condition = (etag: string) => ({ accessCondition: { type: 'IfMatch', condition: etag } })
const item = { id: 'one', pk: 'a' }

/** One living and one dead item have a `v`: 2 and 1. */
const queries = [
  'SELECT VALUE c.id FROM c',
  'SELECT VALUE COUNT(1) FROM c',
  "SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'a'",
  'SELECT VALUE SUM(c.v) FROM c',
  'SELECT VALUE c.id FROM c WHERE c.v > 0',
  'SELECT VALUE c.id FROM c ORDER BY c.v',
  'SELECT COUNT(1) AS n, c.pk FROM c GROUP BY c.pk',
  "SELECT * FROM c WHERE c.id = 'one'",
  'SELECT DISTINCT VALUE c.id FROM c',
  'SELECT TOP 1 VALUE c.id FROM c ORDER BY c.v ASC',
  'SELECT VALUE COUNT(1) FROM c JOIN l IN c.list',
]

type Probe = (dead: Dead) => Promise<unknown>

/** Operations on a dead item and their expected results. Each has its own dead item. */
const probes: Readonly<Record<string, [ask: Probe, expected: unknown]>> = {
  'A read is 404': [async ({ container }) => (await container.item('one', 'a').read()).statusCode, 404],
  'A read by its etag is 404, not 304': [
    async ({ container, etag }) => {
      const headers = { 'if-none-match': etag, 'x-ms-documentdb-partitionkey': '["a"]' }
      return (await server.send({ path: pathOf(container, 'docs', 'one'), headers })).status
    },
    404,
  ],
  'A replace is 404': [({ container }) => failureOf(container.item('one', 'a').replace(item)), 404],
  'A delete is 404': [({ container }) => failureOf(container.item('one', 'a').delete()), 404],
  'A replace with its etag is 404': [
    ({ container, etag }) => failureOf(container.item('one', 'a').replace(item, condition(etag))),
    404,
  ],
  'A delete with its etag is 404': [
    ({ container, etag }) => failureOf(container.item('one', 'a').delete(condition(etag))),
    404,
  ],
  'After it was created again a replace and a delete with its etag are 412': [
    async ({ container, etag }) => {
      await container.items.create(item)
      return [
        await failureOf(container.item('one', 'a').replace(item, condition(etag))),
        await failureOf(container.item('one', 'a').delete(condition(etag))),
        await failureOf(container.items.upsert(item, condition(etag))),
        (await container.item('one', 'a').read()).statusCode,
      ]
    },
    [412, 412, 412, 200],
  ],
  'An upsert makes a new item': [
    async ({ container, etag, rid }) => {
      const { statusCode, resource } = await container.items.upsert(item)
      return [statusCode, resource?._etag === etag, resource?._rid === rid, resource?._ts === clock.now()]
    },
    [201, false, false, true],
  ],
  // The service creates when an upsert with an etag finds nothing (azure-cosmos-dotnet-v3 #1698).
  'An upsert with its etag makes a new item, as if it had never been': [
    async ({ container, etag, rid }) => {
      const { statusCode, resource } = await container.items.upsert(item, condition(etag))
      return [statusCode, resource?._etag === etag, resource?._rid === rid]
    },
    [201, false, false],
  ],
  'A create of its id makes a new item': [
    async ({ container, etag, rid }) => {
      const { statusCode, resource } = await container.items.create(item)
      return [statusCode, resource?._etag === etag, resource?._rid === rid, resource?._ts === clock.now()]
    },
    [201, false, false, true],
  ],
  'A second create of its id is a conflict with the first': [
    async ({ container }) => {
      await container.items.create(item)
      return failureOf(container.items.create(item))
    },
    409,
  ],
  'The feed skips it': [async ({ container }) => idsOf(await readFeed(server, container, { pageSize: 1 })), ['two']],
  'Its partition is without it': [
    async ({ container }) => {
      const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
      const { json, headers: given } = await server.send({ path: pathOf(container, 'docs'), headers })
      return [json._count, given['x-ms-item-count']]
    },
    [1, '1'],
  ],
  'readAll skips it': [
    async ({ container }) => idsOf((await container.items.readAll().fetchAll()).resources as []),
    ['two'],
  ],
  'Every query passes over it, and so does every count': [
    async ({ container }) => {
      const found: unknown[] = []
      for (const query of queries) found.push((await container.items.query(query).fetchAll()).resources)
      return found
    },
    [['two'], [1], [1], [2], ['two'], ['two'], [{ n: 1, pk: 'a' }], [], ['two'], ['two'], [1]],
  ],
  'The status counts it among the dead or nowhere': [
    async ({ container }) => {
      const { json } = await server.admin('GET', `ttl/${container.database.id}/items`)
      return [json.living, json.living + json.backlog >= 1]
    },
    [1, true],
  ],
  'The quota does not count it': [
    async ({ container }) => {
      const { headers } = await container.read({ populateQuotaInfo: true })
      return /documentsCount=(\d+);/.exec(String(headers['x-ms-resource-usage']))?.[1]
    },
    '1',
  ],
  'The metrics do not count it among the living': [
    async ({ container }) => {
      const { text } = await call(server.db.endpoint, 'GET', '/metrics')
      const label = `mayfly_items_living{database="${container.database.id}",container="items"} `
      return text.split('\n').find(line => line.startsWith(label))
    },
    undefined as unknown,
  ],
  'A forecast and a preview do not count it': [
    async ({ container }) => {
      const forecast = await server.db.ttl.forecast(container.database.id, 'items')
      const preview = await server.db.ttl.preview(container.database.id, 'items', null)
      const inBuckets = forecast.buckets.reduce((sum, { inherited, own }) => sum + inherited + own, 0)
      return [inBuckets, forecast.later, forecast.never, preview]
    },
    [0, 0, 1, { now: 0, within1h: 0, within24h: 0, later: 0, never: 1 }],
  ],
}

for (const by of ['own', 'inherited'] as const) {
  for (const [name, [ask, expected]] of Object.entries(probes)) {
    test(`${name}, when it died by ${by === 'own' ? 'its own ttl' : 'the default'}, removed or not`, async () => {
      const present = await deadItem(by)
      const removed = await deadItem(by)
      await server.admin('POST', 'purge', { db: removed.container.database.id })
      const backlogs = await Promise.all(
        [present, removed].map(async ({ container }) => {
          const { backlog } = await server.db.ttl.status(container.database.id, 'items')
          return backlog
        }),
      )
      assert.deepEqual(backlogs, [1, 0], 'one is present and one is removed')
      const wanted = name.startsWith('The metrics')
        ? ({ container }: Dead) => `mayfly_items_living{database="${container.database.id}",container="items"} 1`
        : () => expected
      assert.deepEqual(await ask(present), wanted(present))
      assert.deepEqual(await ask(removed), wanted(removed))
    })
  }
}

test('An item created over a dead one is alive and is not removed with it', async () => {
  const { container } = await deadItem('own')
  await container.items.create({ ...item, ttl: 100, life: 2 })
  assert.equal((await server.db.ttl.status(container.database.id, 'items')).backlog, 0)
  await server.db.purge()
  const { resource } = await container.item('one', 'a').read()
  assert.equal(resource?.life, 2)
  await clock.advance('99s')
  assert.equal((await container.item('one', 'a').read()).statusCode, 200)
  await clock.advance('1s')
  assert.equal((await container.item('one', 'a').read()).statusCode, 404)
})

test('A purge removes the dead items of every container and nothing else, and says how many', async () => {
  await server.db.purge()
  const first = await deadItem('own')
  const second = await deadItem('inherited')
  assert.deepEqual(await server.db.purge(), { removed: 2 })
  assert.deepEqual(await server.db.purge(), { removed: 0 })
  for (const { container } of [first, second]) assert.deepEqual(idsOf(await readFeed(server, container)), ['two'])
})

test('A purge of a large backlog removes all of it', async () => {
  const container = await server.newContainer({ defaultTtl: 10 })
  const ids = Array.from({ length: 350 }, (_, at) => String(at))
  await Promise.all(ids.map(id => container.items.create({ id, pk: id, ...(Number(id) % 7 === 0 ? { ttl: -1 } : {}) })))
  await clock.advance('10s')
  const { json } = await server.admin('POST', 'purge', { db: container.database.id, container: 'items' })
  assert.deepEqual(json, { removed: 300, remaining: 0 })
  assert.equal((await readFeed(server, container, { pageSize: 100 })).length, 50)
})
