/**
 * Hierarchical partition keys of one to three levels: whole keys, prefixes, and queries over their living
 * items.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, PartitionKey } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { idsOf, pathOf, readFeed, startServer } from '../../support/start-server.ts'

const server = await startServer()

const paths = ['/tenant', '/user', '/session']

async function filled(levels: number): Promise<Container> {
  const partitionKey = { paths: paths.slice(0, levels), kind: 'MultiHash', version: 2 } as never
  const container = await server.newContainer({ partitionKey, throughput: 30_000, defaultTtl: -1 })
  for (const tenant of ['t1', 't2']) {
    for (const user of ['u1', 'u2', null]) {
      for (const session of [1, 2]) {
        const id = `${tenant}-${user}-${session}`
        // The first session of every user dies early.
        await container.items.create({ id, tenant, user, session, ttl: session === 1 ? 10 : -1 })
      }
    }
  }
  return container
}

const ids = async (container: Container, query: string, partitionKey?: PartitionKey) => {
  const options = partitionKey === undefined ? {} : { partitionKey }
  return idsOf((await container.items.query<{ id: string }>(query, options).fetchAll()).resources)
}

const all = 'SELECT * FROM c'

for (const levels of [1, 2, 3]) {
  test(`A key of ${levels} levels is found by every prefix, also while items die`, async () => {
    const container = await filled(levels)
    const key = ['t1', 'u1', 2].slice(0, levels) as never
    const expected = (isAlive: (session: number) => boolean) =>
      ['t1', 't2'].flatMap(tenant =>
        ['u1', 'u2', 'null'].flatMap(user => [1, 2].filter(isAlive).map(session => `${tenant}-${user}-${session}`)),
      )
    const matches = (prefix: readonly unknown[], names: string[]) =>
      names.filter(name => prefix.every((level, at) => name.split('-')[at] === String(level))).sort()
    for (const isAlive of [() => true, (session: number) => session === 2]) {
      for (let length = 1; length <= levels; length++) {
        const prefix = (key as unknown[]).slice(0, length)
        const names = matches(prefix, expected(isAlive))
        assert.deepEqual(await ids(container, all, prefix as never), names, `${prefix}`)
        const count = await container.items
          .query('SELECT VALUE COUNT(1) FROM c', { partitionKey: prefix as never })
          .fetchAll()
        assert.deepEqual(count.resources, [names.length])
        const ordered = await container.items
          .query<string>('SELECT VALUE c.id FROM c ORDER BY c.id DESC', { partitionKey: prefix as never })
          .fetchAll()
        assert.deepEqual(ordered.resources, names.toReversed())
      }
      assert.deepEqual(await ids(container, all), expected(isAlive).sort())
      if (isAlive(1)) await server.db.clock.advance('10s')
    }
    assert.equal((await readFeed(server, container)).length, 6)
    await server.db.purge()
    assert.equal((await readFeed(server, container)).length, 6)
  })
}

test('A filter may name the whole key or a prefix of it', async () => {
  const container = await filled(3)
  assert.deepEqual(await ids(container, "SELECT * FROM c WHERE c.tenant = 't1' AND c.user = 'u2'"), [
    't1-u2-1',
    't1-u2-2',
  ])
  assert.deepEqual(await ids(container, "SELECT * FROM c WHERE c.tenant = 't1' AND c.user = 'u2' AND c.session = 2"), [
    't1-u2-2',
  ])
  assert.deepEqual(await ids(container, "SELECT * FROM c WHERE c.user = 'u1'"), [
    't1-u1-1',
    't1-u1-2',
    't2-u1-1',
    't2-u1-2',
  ])
})

test('Feeds take a prefix too', async () => {
  const container = await filled(2)
  const headers = { 'x-ms-documentdb-partitionkey': '["t2"]' }
  assert.equal((await readFeed(server, container, { headers })).length, 6)
  assert.equal(
    (await readFeed(server, container, { headers: { 'x-ms-documentdb-partitionkey': '["t2","u1"]' } })).length,
    2,
  )
})

test('Point operations need the whole key, and a key with too many levels is a bad request', async () => {
  const container = await filled(2)
  const read = (key: string) =>
    server.send({ path: pathOf(container, 'docs', 't1-u1-1'), headers: { 'x-ms-documentdb-partitionkey': key } })
  assert.equal((await read('["t1","u1"]')).status, 200)
  assert.equal((await read('["t1"]')).status, 400)
  assert.equal((await read('["t1","u1","s"]')).status, 400)
  assert.equal((await read('["t1","u1","s","x"]')).status, 400)
  assert.equal(
    await failureOf(container.items.query(all, { partitionKey: ['t1', 'u1', 's'] as never }).fetchAll()),
    400,
  )
})
