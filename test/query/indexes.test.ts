/**
 * Indexes as a user sees them: they are built when queries need them, follow the policy, survive a restart,
 * and change no answer.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { adaptiveIndexRowsMin, adaptiveScansMin } from '../../src/engine/index-keeper.ts'
import { mayfly } from '../../src/index.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { startServer, type TestServer, temporaryDirectory, testServer } from '../support/start-server.ts'
import { ask, askAll } from './ask.ts'
import { areReady, indexesOf, waitForIndexes } from './await-index.ts'
import { ascending, type Item, reference } from './fixture.ts'

const server = await startServer({ partitions: 1 })

function itemsOf(count: number): Item[] {
  return Array.from({ length: count }, (_, n) => ({
    id: `i${n}`,
    pk: `p${n % 11}`,
    k: `k${n % 50}`,
    n: (n * 7919) % count,
    secret: { deep: n % 50 },
    tags: [`t${n % 50}`, 'all'],
  }))
}

/** Many at once, because each write waits for its commit. */
async function put(container: Container, items: readonly Item[]): Promise<void> {
  for (let at = 0; at < items.length; at += 200) {
    await Promise.all(items.slice(at, at + 200).map(item => container.items.upsert(item)))
  }
}

/** Repeats the query until the server reports that an index would have been enough. */
async function askOften(container: Container, query: string): Promise<void> {
  for (let time = 0; time < adaptiveScansMin + 1; time++) await askAll(server, container, query, 1000)
}

const queries = [
  'SELECT VALUE c.id FROM c WHERE c.k = "k7"',
  'SELECT VALUE c.id FROM c WHERE c.k >= "k45"',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k = "k7"',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k IN ("k1", "k2", "none")',
  'SELECT c.k, COUNT(1) AS count FROM c WHERE c.k < "k2" GROUP BY c.k',
  'SELECT DISTINCT VALUE c.k FROM c WHERE STARTSWITH(c.k, "k1")',
  'SELECT TOP 20 VALUE c.n FROM c WHERE c.k = "k7" ORDER BY c.n DESC',
]

async function assertSame(container: Container, living: readonly Item[], asked: TestServer = server): Promise<void> {
  for (const query of queries) {
    const rows = (await askAll(asked, container, query, 70)).map(row => JSON.stringify(row))
    const expected = reference(query, living as unknown as SqlValue[]).map(row => JSON.stringify(row))
    const isOrdered = query.includes('ORDER BY')
    assert.deepEqual(isOrdered ? rows : rows.sort(), isOrdered ? expected : expected.sort(), query)
  }
}

describe('an index that is not declared', () => {
  const items = itemsOf(adaptiveIndexRowsMin + 500)

  test('is recommended, built after repeated scans, used, and stays exact', async () => {
    const container = await server.newContainer({ defaultTtl: -1 })
    await put(container, items)
    const scan = await ask(server, container, queries[0]!)
    assert.deepEqual([scan.used, scan.wished], [[], ['/k/?']])
    assert.equal(scan.itemsRead, items.length)
    assert.deepEqual(await indexesOf(server, container), [], 'one scan is not enough')

    await askOften(container, queries[0]!)
    // During the build no query reads the index, and every write goes into it.
    const changed = items.map((item, n) => (n % 5 === 0 ? { ...item, k: `k${(n + 1) % 50}` } : item))
    const gone = items.slice(0, 40)
    await put(container, changed.slice(0, 1000))
    await Promise.all(gone.map(({ id, pk }) => container.item(id, pk as string).delete()))
    const expected = [...changed.slice(40, 1000), ...items.slice(1000)]
    await assertSame(container, expected)
    const [index] = await waitForIndexes(server, container)
    assert.deepEqual(index, { paths: ['/k/?'], declared: false, state: 'ready' })

    const served = await ask(server, container, queries[0]!)
    assert.deepEqual([served.used, served.wished], [['/k/?'], []])
    assert.ok(served.itemsRead < items.length / 20, String(served.itemsRead))
    await assertSame(container, expected)

    // Deaths, with the dead items present and swept, and later writes.
    await server.admin('POST', 'purge', { pause: true })
    const mortal = itemsOf(300).map(item => ({ ...item, id: `m${item.id}`, ttl: 10 }))
    await put(container, mortal)
    await assertSame(container, [...expected, ...mortal])
    await server.db.clock.advance('10s')
    await assertSame(container, expected)
    await server.db.purge()
    await assertSame(container, expected)
    await put(container, mortal.slice(0, 10))
    await assertSame(container, [...expected, ...mortal.slice(0, 10)])
  })

  test('is built for the elements of a list', async () => {
    const container = await server.newContainer()
    await put(container, items)
    const query = 'SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "t7")'
    await askOften(container, query)
    await waitForIndexes(server, container)
    const { used, rows, itemsRead } = await ask(server, container, query)
    assert.deepEqual([used, itemsRead], [['/tags/[]/?'], rows.length])
    assert.deepEqual(rows.toSorted(), reference(query, items as unknown as SqlValue[]).toSorted())
  })

  test('is not built for a path that the policy excludes or does not include', async () => {
    const policies = [
      { includedPaths: [{ path: '/*' }], excludedPaths: [{ path: '/secret/*' }] },
      { includedPaths: [{ path: '/k/?' }], excludedPaths: [{ path: '/*' }] },
    ]
    for (const indexingPolicy of policies) {
      const container = await server.newContainer({ indexingPolicy })
      await put(container, items)
      const query = 'SELECT VALUE c.id FROM c WHERE c.secret.deep = 7'
      await askOften(container, query)
      const { wished, rows } = await ask(server, container, query)
      assert.deepEqual([wished, rows.length], [[], 50])
      // An allowed index is built meanwhile, which shows that there was time enough.
      await askOften(container, queries[0]!)
      const indexes = await waitForIndexes(server, container)
      assert.deepEqual(
        indexes.map(({ paths }) => paths),
        [['/k/?']],
      )
    }
  })

  test('is not built in a small container', async () => {
    const container = await server.newContainer()
    await put(container, items.slice(0, 300))
    for (let time = 0; time < 40; time++) await ask(server, container, queries[0]!)
    assert.deepEqual(await indexesOf(server, container), [])
  })
})

test('an index that was half built when the server stopped is finished after a restart', async () => {
  const data = temporaryDirectory()
  const items = itemsOf(1200)
  let name: { database: string; container: string }
  {
    await using db = await mayfly({ clock: 'manual', data, partitions: 1 })
    const container = await testServer(db).newContainer({ defaultTtl: -1 })
    await put(container, items)
    name = { database: container.database.id, container: container.id }
  }
  {
    // The same file, opened without the server, to stop in the middle of the build.
    const clock = new ManualClock(toEpochSeconds(4_000_000_000))
    await using store = openSqlite({ directory: data, clock: () => clock, onFatal: assert.ifError })
    const record = (await store.findContainer(name.database, name.container))!
    const made = await store.createIndex(record, { components: [ascending('k')], isDeclared: false })
    const { number } = made!.indexes[0]!.definition
    assert.equal(await store.buildIndex(record, number, 500), false)
  }
  await using db = await mayfly({ clock: 'manual', data, partitions: 1 })
  const again = testServer(db)
  const container = again.client.database(name.database).container(name.container)
  // Writes before and after the position that the build has reached.
  const changed = items.map((item, n) => (n % 100 === 0 ? { ...item, k: 'k7' } : item))
  await put(
    container,
    changed.filter((_, n) => n % 100 === 0),
  )
  await assertSame(container, changed, again)
  await waitForIndexes(again, container)
  assert.deepEqual((await ask(again, container, queries[0]!)).used, ['/k/?'])
  await assertSame(container, changed, again)
})

describe('an index that the policy declares', () => {
  const composite = (...paths: readonly string[]) =>
    paths.map(path => ({ path: `/${path.replace('-', '')}`, order: path.startsWith('-') ? 'descending' : 'ascending' }))

  async function declare(container: Container, ...compositeIndexes: object[][]): Promise<void> {
    const { resource } = await container.read()
    await container.replace({
      ...resource!,
      indexingPolicy: { ...resource!.indexingPolicy, compositeIndexes } as object,
    })
  }

  const ordered = 'SELECT VALUE c.id FROM c ORDER BY c.k, c.n'
  const turned = 'SELECT VALUE c.id FROM c ORDER BY c.k DESC, c.n DESC'
  const missing = /does not have a corresponding composite index/

  test('is created and dropped with the policy, and serves the order while it exists', async () => {
    const container = await server.newContainer()
    const items = itemsOf(300)
    await put(container, items)
    const all = { maxItemCount: 1000 }
    await assert.rejects(container.items.query(ordered, all).fetchAll(), missing)

    await declare(container, composite('k', 'n'))
    // The order can be used at once, whether the index is ready or not.
    for (const isReady of [false, true]) {
      if (isReady) await waitForIndexes(server, container)
      for (const query of [ordered, turned]) {
        const { resources } = await container.items.query(query, all).fetchAll()
        assert.deepEqual(resources, reference(query, items as unknown as SqlValue[]))
      }
    }
    assert.deepEqual(await indexesOf(server, container), [{ paths: ['/k/?', '/n/?'], declared: true, state: 'ready' }])
    const page = await ask(server, container, turned, { 'x-ms-max-item-count': '5' })
    assert.deepEqual([page.used, page.itemsRead < 10], [['/k/?', '/n/?'], true])

    await declare(container)
    assert.deepEqual(await indexesOf(server, container), [])
    await assert.rejects(container.items.query(ordered, all).fetchAll(), missing)
  })

  test('serves its own directions and the opposite ones, and no others', async () => {
    const container = await server.newContainer()
    await put(container, itemsOf(100))
    await declare(container, composite('k', '-n'))
    await waitForIndexes(server, container)
    for (const query of ['ORDER BY c.k, c.n DESC', 'ORDER BY c.k DESC, c.n']) {
      const text = `SELECT VALUE c.id FROM c ${query}`
      assert.deepEqual((await ask(server, container, text)).used, ['/k/?', '/n/?'])
      assert.deepEqual(await askAll(server, container, text, 7), reference(text, itemsOf(100) as unknown as SqlValue[]))
    }
    for (const query of ['ORDER BY c.k, c.n', 'ORDER BY c.n, c.k', 'ORDER BY c.k, c.n DESC, c.id']) {
      await assert.rejects(container.items.query(`SELECT * FROM c ${query}`).fetchAll(), missing)
    }
  })

  test('serves the order of its last paths within one value of the first', async () => {
    const container = await server.newContainer()
    const items = itemsOf(300)
    await put(container, items)
    await declare(container, composite('k', 'n'))
    await waitForIndexes(server, container)
    const { k } = items[0] as unknown as { k: unknown }
    for (const order of ['c.n', 'c.n DESC']) {
      const text = `SELECT VALUE c.id FROM c WHERE c.k = ${JSON.stringify(k)} ORDER BY ${order}`
      const page = await ask(server, container, text, { 'x-ms-max-item-count': '2' })
      assert.deepEqual([page.used, page.itemsRead < 8], [['/k/?', '/n/?'], true])
      for (const size of [1, 3, 1000]) {
        assert.deepEqual(await askAll(server, container, text, size), reference(text, items as unknown as SqlValue[]))
      }
    }
  })

  test('is created once, however often it is named and in either direction', async () => {
    const container = await server.newContainer()
    await Promise.all([1, 2, 3].map(() => declare(container, composite('k', '-n'), composite('-k', 'n'))))
    assert.equal((await waitForIndexes(server, container)).length, 1)
  })

  test('is built also if it is declared while another one is built', async () => {
    const busy = await server.newContainer()
    await put(busy, itemsOf(1500))
    await declare(busy, composite('k', 'n'))
    const others = await Promise.all(
      [1, 2, 3].map(() =>
        server.newContainer({ indexingPolicy: { compositeIndexes: [composite('a', 'b')] } as object }),
      ),
    )
    for (const container of [...others, busy]) await waitForIndexes(server, container)
  })

  test('is built although another container is deleted while it waits', async () => {
    const busy = await server.newContainer()
    await put(busy, itemsOf(1500))
    const definition = { indexingPolicy: { compositeIndexes: [composite('a', 'b')] } as object }
    await declare(busy, composite('k', 'n'))
    const [doomed, last] = [await server.newContainer(definition), await server.newContainer(definition)]
    await doomed.delete()
    await waitForIndexes(server, last)
  })

  test('through an array does not block writes', async () => {
    const container = await server.newContainer({
      indexingPolicy: { compositeIndexes: [composite('tags/[]', 'n')] } as object,
    })
    await put(container, itemsOf(10))
    const query = 'SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.tags, "all")'
    assert.deepEqual((await container.items.query(query).fetchAll()).resources, [10])
  })

  test('leaves tokens that are refused or continue correctly after it is dropped', async () => {
    const container = await server.newContainer()
    const items = itemsOf(200)
    await put(container, items)
    await declare(container, composite('k', 'n'))
    await waitForIndexes(server, container)
    const one = { 'x-ms-max-item-count': '1' }
    const filtered = 'SELECT VALUE c.id FROM c WHERE c.k = "k7"'
    const along = await ask(server, container, filtered, one)
    assert.deepEqual(along.used, ['/k/?', '/n/?'])
    const sorted = await ask(server, container, 'SELECT VALUE c.n FROM c WHERE c.k = "k7" ORDER BY c.n', one)
    await declare(container)
    await assert.rejects(askAll(server, container, filtered, 10, along.continuation), /Invalid Continuation Token/)
    const rest = await askAll(
      server,
      container,
      'SELECT VALUE c.n FROM c WHERE c.k = "k7" ORDER BY c.n',
      10,
      sorted.continuation,
    )
    const expected = reference('SELECT VALUE c.n FROM c WHERE c.k = "k7" ORDER BY c.n', items as unknown as SqlValue[])
    assert.deepEqual([...sorted.rows, ...rest], expected)
    // Declared again it is the same index, so the token is valid again.
    await declare(container, composite('k', 'n'))
    await waitForIndexes(server, container)
    const more = await askAll(server, container, filtered, 10, along.continuation)
    assert.deepEqual(
      [...along.rows, ...more].toSorted(),
      reference(filtered, items as unknown as SqlValue[]).toSorted(),
    )
  })
})

test('requests are answered while indexes are built', async () => {
  const container = await server.newContainer()
  await put(container, itemsOf(3000))
  const { resource } = await container.read()
  const compositeIndexes = ['k', 'secret', 'pk'].map(path => [
    { path: `/${path}`, order: 'ascending' },
    { path: '/n', order: 'ascending' },
  ])
  await container.replace({ ...resource!, indexingPolicy: { ...resource!.indexingPolicy, compositeIndexes } as object })
  let reads = 0
  const done = waitForIndexes(server, container, indexes => indexes.length === 3 && areReady(indexes))
  const work = async () => {
    while ((await indexesOf(server, container)).some(({ state }) => state === 'building')) {
      const { resource: item } = await container.item('i5', 'p5').read()
      assert.equal(item.id, 'i5')
      await container.items.upsert({ id: 'i5', pk: 'p5', k: 'k5', n: reads++ })
    }
  }
  await Promise.all([done, work()])
  assert.ok(reads > 0)
})
