/**
 * No query sees a dead item, however it is answered: by a scan, by an index, by ids or from index keys alone;
 * from the very second of death on, swept or not.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { canonicalKey } from '../../src/sql/values/compare.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { ask, askAll } from './ask.ts'
import { waitForIndexes } from './await-index.ts'
import { modes } from './client-modes.ts'
import { type Item, reference } from './fixture.ts'

const servers = { 1: await startServer({ partitions: 1 }), 5: await startServer({ partitions: 5 }) }

const ttl = 60

/** The mortal items have the lowest and highest values, some in between, and their own group and tags. */
const mortals: readonly Item[] = [
  { id: 'm0', pk: 'p0', k: 'a', n: -100, s: 'aa', tags: ['x', 'only'], o: { x: 1 } },
  { id: 'm1', pk: 'p1', k: 'b', n: 100, s: 'zz', tags: ['x'], o: { x: 1 } },
  { id: 'm2', pk: 'p2', k: 'mortal', n: 3, s: 'mm', tags: ['x', 'y'] },
  { id: 'm3', pk: 'p0', k: 'a', n: 2.5, s: 'ab', tags: [] },
  { id: 'm4', pk: 'p1', k: 'mortal', n: 4, s: 'mn', tags: ['only'] },
]
const immortals: readonly Item[] = [
  { id: 'i0', pk: 'p0', k: 'a', n: 1, s: 'bb', tags: ['x'], o: { x: 1 } },
  { id: 'i1', pk: 'p1', k: 'b', n: 2, s: 'cc', tags: ['y', 'x'] },
  { id: 'i2', pk: 'p2', k: 'a', n: 5, s: 'dd', tags: [], o: { x: 2 } },
  { id: 'i3', pk: 'p3', k: 'c', n: 6, s: 'ee', tags: ['y'] },
  { id: 'i4', pk: 'p4', k: 'b', n: 7, s: 'ff', tags: ['z'] },
  { id: 'i5', pk: 'p0', k: 'a', n: 8, s: 'gg', tags: ['x', 'z'] },
]

const aggregates = ['COUNT(1)', 'COUNT(c.o)', 'SUM(c.n)', 'AVG(c.n)', 'MIN(c.n)', 'MAX(c.n)', 'MIN(c.s)', 'MAX(c.s)']

const queries = [
  ...aggregates.flatMap(each => [`SELECT VALUE ${each} FROM c`, `SELECT VALUE ${each} FROM c WHERE c.n < 50`]),
  'SELECT COUNT(1) AS count, SUM(c.n) AS sum FROM c',
  'SELECT VALUE COUNTIF(c.k = "mortal") FROM c',
  // Counts that an index can answer from its keys.
  'SELECT VALUE COUNT(1) FROM c WHERE c.k = "a"',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k = "mortal"',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k = "a" AND c.n >= 2',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k IN ("a", "mortal")',
  'SELECT VALUE COUNT(1) FROM c WHERE STARTSWITH(c.k, "m")',
  // Groups and distinct values.
  'SELECT c.k, COUNT(1) AS count, SUM(c.n) AS sum FROM c GROUP BY c.k',
  'SELECT c.pk, COUNT(1) AS count FROM c GROUP BY c.pk',
  'SELECT DISTINCT VALUE c.k FROM c',
  'SELECT DISTINCT VALUE c.k FROM c ORDER BY c.k',
  'SELECT DISTINCT VALUE t FROM c JOIN t IN c.tags',
  // Orders, with and without an index.
  'SELECT VALUE c.id FROM c ORDER BY c.n',
  'SELECT VALUE c.id FROM c ORDER BY c.n DESC',
  'SELECT VALUE c.id FROM c ORDER BY c.k, c.n',
  'SELECT VALUE c.id FROM c ORDER BY c.k DESC, c.n DESC',
  'SELECT VALUE c.id FROM c WHERE c.k = "a" ORDER BY c.k, c.n',
  'SELECT TOP 3 VALUE c.id FROM c ORDER BY c.n',
  'SELECT VALUE c.id FROM c ORDER BY c.n OFFSET 2 LIMIT 3',
  // Filters, joins and subqueries.
  'SELECT VALUE c.id FROM c',
  'SELECT VALUE c.id FROM c WHERE c.k = "a"',
  'SELECT VALUE c.id FROM c WHERE c.k = "mortal"',
  'SELECT VALUE c.id FROM c WHERE c.n BETWEEN 2 AND 4',
  'SELECT VALUE c.id FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.tags WHERE t = "only")',
  'SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "x")',
  'SELECT c.id, t FROM c JOIN t IN c.tags',
  'SELECT VALUE COUNT(1) FROM c JOIN t IN c.tags WHERE t = "x"',
  'SELECT VALUE c.id FROM (SELECT VALUE c FROM c WHERE c.n > 2) AS c',
  // By partition key and id.
  'SELECT VALUE c.id FROM c WHERE c.pk = "p0"',
  'SELECT VALUE c.id FROM c WHERE c.pk = "p0" AND c.id = "m0"',
  'SELECT VALUE c.id FROM c WHERE c.pk = "p0" AND c.id IN ("m0", "i0", "m3", "none")',
  'SELECT VALUE COUNT(1) FROM c WHERE c.pk = "p0" AND c.id = "m0"',
  'SELECT VALUE MAX(c.n) FROM c WHERE c.pk = "p1"',
  'SELECT VALUE c.id FROM c WHERE c.pk = "p0" ORDER BY c.n DESC',
]

type Lifespan = 'inherited' | 'own'

async function fill(server: TestServer, lifespan: Lifespan): Promise<Container> {
  const order = ['k', 'n'].map(name => ({ path: `/${name}`, order: 'ascending' }))
  const container = await server.newContainer({
    defaultTtl: lifespan === 'inherited' ? ttl : -1,
    indexingPolicy: { compositeIndexes: [order] } as object,
  })
  for (const item of mortals) await container.items.create(lifespan === 'own' ? { ...item, ttl } : item)
  for (const item of immortals) await container.items.create(lifespan === 'inherited' ? { ...item, ttl: -1 } : item)
  await waitForIndexes(server, container)
  return container
}

let turn = 0

async function check(container: Container, living: readonly Item[], when: string): Promise<void> {
  turn++
  for (const [at, text] of queries.entries()) {
    const mode = modes[(at + turn) % modes.length]!
    const rows = (await mode.fetch(container, { query: text }, mode.options)).map(canonicalKey)
    const expected = reference(text, living as unknown as SqlValue[]).map(canonicalKey)
    const isOrdered = prepareQuery(text).query.orderBy !== undefined
    assert.deepEqual(isOrdered ? rows : rows.sort(), isOrdered ? expected : expected.sort(), `${when}: ${text}`)
  }
}

for (const partitions of [1, 5] as const) {
  for (const lifespan of ['inherited', 'own'] as const) {
    test(`${partitions} partition(s), ${lifespan} ttl: visible until the second of death, never after`, async () => {
      const server = servers[partitions]
      await server.admin('POST', 'purge', { pause: true })
      const container = await fill(server, lifespan)
      const born = server.db.clock.now()
      await server.db.clock.set(born + ttl - 1)
      await check(container, [...mortals, ...immortals], 'one second before')
      await server.db.clock.set(born + ttl)
      await check(container, immortals, 'at the deadline')
      await server.db.clock.set(born + ttl + 1)
      await check(container, immortals, 'one second after')
      const status = await server.db.ttl.status(container.database.id, container.id)
      assert.equal(status.backlog, mortals.length, 'all of this while the dead were present')
      await server.db.purge()
      await check(container, immortals, 'swept')
      // Items written after the deaths are not confused with the dead.
      await container.items.create({ ...mortals[0]!, ttl: -1 })
      await check(container, [mortals[0]!, ...immortals], 'one is created again')
    })
  }
}

describe('over one partition', () => {
  const server = servers[1]

  test('a count uses keys while no item is dead, items while one is, and keys again after the sweep', async () => {
    await server.admin('POST', 'purge', { pause: true })
    const container = await fill(server, 'own')
    const count = 'SELECT VALUE COUNT(1) FROM c WHERE c.k = "a"'
    const all = await ask(server, container, count)
    assert.deepEqual([all.rows, all.itemsRead, all.used], [[5], 0, ['/k/?']])
    await server.db.clock.advance(`${ttl - 1}s`)
    assert.deepEqual((await ask(server, container, count)).itemsRead, 0)
    await server.db.clock.advance('1s')
    const dead = await ask(server, container, count)
    assert.deepEqual([dead.rows, dead.itemsRead], [[3], 3])
    await server.db.purge()
    const swept = await ask(server, container, count)
    assert.deepEqual([swept.rows, swept.itemsRead], [[3], 0])
  })

  test('the same holds for items that inherit their lifespan', async () => {
    await server.admin('POST', 'purge', { pause: true })
    const container = await fill(server, 'inherited')
    const count = 'SELECT VALUE COUNT(1) FROM c WHERE c.k = "mortal"'
    assert.deepEqual((await ask(server, container, count)).itemsRead, 0)
    await server.db.clock.advance(`${ttl}s`)
    const dead = await ask(server, container, count)
    assert.deepEqual(dead.rows, [0])
    assert.deepEqual((await ask(server, container, 'SELECT VALUE COUNT(1) FROM c WHERE c.k = "a"')).rows, [3])
  })

  test('an index serves filters and orders without the dead', async () => {
    await server.admin('POST', 'purge', { pause: true })
    const container = await fill(server, 'inherited')
    await server.db.clock.advance(`${ttl}s`)
    const filtered = await ask(server, container, 'SELECT VALUE c.id FROM c WHERE c.k = "a"')
    assert.deepEqual([filtered.rows, filtered.itemsRead, filtered.used], [['i0', 'i2', 'i5'], 3, ['/k/?', '/n/?']])
    const text = 'SELECT VALUE c.id FROM c ORDER BY c.k DESC, c.n DESC'
    const ordered = await ask(server, container, text, { 'x-ms-max-item-count': '2' })
    assert.deepEqual(
      [ordered.rows, ordered.used],
      [
        ['i3', 'i4'],
        ['/k/?', '/n/?'],
      ],
    )
    assert.ok(ordered.itemsRead <= 4, 'and no more of it than the page needs')
  })

  test('an item that dies between two pages is not on the second', async () => {
    for (const order of ['', ' ORDER BY c.n', ' ORDER BY c.k, c.n', ' ORDER BY c.n DESC']) {
      await server.admin('POST', 'purge', { pause: true })
      const container = await fill(server, 'own')
      const text = `SELECT VALUE c.id FROM c${order}`
      const first = await ask(server, container, text, { 'x-ms-max-item-count': '3' })
      await server.db.clock.advance(`${ttl}s`)
      const rest = (await askAll(server, container, text, 3, first.continuation)) as string[]
      assert.deepEqual(
        rest.filter(id => id.startsWith('m')),
        [],
        text,
      )
      const given = [...(first.rows as string[]), ...rest].filter(id => id.startsWith('i')).sort()
      assert.deepEqual(
        given,
        immortals.map(({ id }) => id),
        text,
      )
    }
  })
})
