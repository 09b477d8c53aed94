/** Tests of pages from the query thread: their moment, their errors, crashes and closing. */

import assert from 'node:assert/strict'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import type { Worker } from 'node:worker_threads'
import { inlineRowsMax } from '../../src/engine/where-to-run.ts'
import type { PageRunner, RemotePageTask } from '../../src/query/page-task.ts'
import { startWorker } from '../../src/server/query-thread/query-threads.ts'
import { demandsOf } from '../../src/sql/planning/demands.ts'
import { prepareQuery } from '../../src/sql/prepare.ts'
import { createProgram } from '../../src/sql/program.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { setDefault } from '../simulation/fixture.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { ascending, everything, type Item, QueryWorld, reference } from './fixture.ts'

const directory = temporaryDirectory()
let worlds = 0

async function onDisk(options: Parameters<typeof QueryWorld.make>[0] = {}) {
  const path = join(directory, String(worlds++))
  return { world: await QueryWorld.make({ ...options, directory: path }), path }
}

/** Runs something after the page was planned and before the thread starts it. */
function afterPlanning(world: QueryWorld, happen: () => unknown): PageRunner {
  let isFirst = true
  return {
    async run(task: RemotePageTask) {
      if (isFirst) await happen()
      isFirst = false
      return world.thread!.run(task)
    },
  }
}

function itemsOf(count: number, more: object = {}): Item[] {
  return Array.from({ length: count }, (_, n) => ({ id: `i${n}`, pk: `p${n % 3}`, n, k: n % 2, ...more }))
}

const byEveryPath = [
  'SELECT VALUE c.id FROM c',
  'SELECT VALUE c.id FROM c WHERE c.n >= 3',
  'SELECT VALUE c.id FROM c WHERE c.k = 1',
  'SELECT VALUE c.id FROM c ORDER BY c.n DESC',
  'SELECT VALUE c.id FROM c ORDER BY c.k, c.n',
  'SELECT VALUE COUNT(1) FROM c',
  'SELECT VALUE COUNT(1) FROM c WHERE c.k = 1',
  'SELECT c.k, SUM(c.n) AS sum FROM c GROUP BY c.k',
  'SELECT DISTINCT VALUE c.k FROM c',
]

async function assertSees(world: QueryWorld, living: readonly Item[], when: string): Promise<void> {
  for (const text of byEveryPath) {
    const rows = (await world.query(text, { rowsMax: 4 })).map(row => JSON.stringify(row))
    const expected = reference(text, living as unknown as SqlValue[]).map(row => JSON.stringify(row))
    assert.deepEqual(rows.sort(), expected.sort(), `${when}: ${text}`)
  }
}

describe('a page of the query thread', () => {
  for (const lifespan of ['inherited', 'own'] as const) {
    test(`shows an item until the second of its death and never from then on: ${lifespan} ttl`, async () => {
      const mortal = itemsOf(5, lifespan === 'own' ? { ttl: 10 } : {})
      const immortal = itemsOf(4, { ttl: -1 }).map(item => ({ ...item, id: `x${item.id}` }))
      const { world } = await onDisk({ defaultTtl: lifespan === 'own' ? -1 : 10 })
      await world.put(...mortal, ...immortal)
      await world.index([ascending('k')])
      await world.index([ascending('k'), ascending('n')])
      world.clock.advance(9)
      await assertSees(world, [...mortal, ...immortal], 'one second before')
      world.clock.advance(1)
      await assertSees(world, immortal, 'at the deadline')
      await world.sweep()
      await assertSees(world, immortal, 'swept')
      assert.ok(world.remotePages >= 3 * byEveryPath.length)
      await world[Symbol.asyncDispose]()
    })
  }

  test('keeps the moment and the default of its planning, whatever happens meanwhile', async () => {
    for (const isIndexed of [false, true]) {
      const { world } = await onDisk()
      await world.put(...itemsOf(6))
      if (isIndexed) await world.index([ascending('k')])
      world.clock.advance(5)
      const text = 'SELECT VALUE c.id FROM c WHERE c.k = 1'
      world.runner = afterPlanning(world, async () => {
        await setDefault(world.store, await world.container(), 10)
        world.clock.advance(5)
        assert.equal(await world.sweep(), 0, 'a sweep waits for the page')
      })
      assert.deepEqual((await world.query(text)).sort(), ['i1', 'i3', 'i5'])
      world.runner = world.thread
      assert.deepEqual(await world.query(text), [], 'the next page sees the change')
      assert.equal(await world.sweep(), 6)
      await world[Symbol.asyncDispose]()
    }
  })

  test('sees every write that was acknowledged before the request', async () => {
    const { world } = await onDisk()
    for (let n = 0; n < 50; n++) {
      await world.put({ id: 'a', pk: 'p', n })
      const { rows, version } = await world.page('SELECT VALUE c.n FROM c WHERE c.n >= 0', undefined)
      assert.deepEqual([rows, version], [[String(n)], n + 1])
    }
    await world[Symbol.asyncDispose]()
  })

  test('is planned again when its index is dropped, created or found to have gaps meanwhile', async () => {
    const text = 'SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "t5")'
    const { world } = await onDisk()
    await world.put({ id: 'a', pk: 'p', tags: ['t5'] }, { id: 'b', pk: 'p', tags: ['t6'] })
    const path = demandsOf(prepareQuery(text).query, new Map()).demands[0]!.path
    const number = await world.index([{ path, isDescending: false }])
    world.runner = afterPlanning(world, () =>
      world.put({ id: 'long', pk: 'p', tags: Array.from({ length: 1001 }, (_, n) => `t${n}`) }),
    )
    assert.deepEqual((await world.query(text)).sort(), ['a', 'long'])
    world.runner = afterPlanning(world, async () => {
      await world.dropIndex(number)
      while (await world.store.reclaim(100)) {}
    })
    assert.deepEqual((await world.query(text)).sort(), ['a', 'long'])
    await world[Symbol.asyncDispose]()
  })

  test('is refused if its plan is stale again and again, and one item would hold the thread of requests', async () => {
    const { world } = await onDisk()
    await world.put({ id: 'a', pk: 'p', list: Array.from({ length: 2000 }, (_, n) => n) })
    world.runner = { run: async () => 'stale' }
    const joins = 'FROM c JOIN x IN c.list JOIN y IN c.list JOIN z IN c.list'
    // Searches in the list take longer than joins may make rows.
    const slow = 'WHERE ARRAY_CONTAINS(c.list, x + y + z + 10000)'
    await assert.rejects(world.query(`SELECT VALUE 1 ${joins} ${slow}`), { kind: 'unavailable' })
    assert.deepEqual(await world.query('SELECT VALUE COUNT(x) FROM c JOIN x IN c.list'), [2000])
    await world[Symbol.asyncDispose]()
  })

  test('reports that its container was deleted meanwhile, also when another has its name', async () => {
    for (const isMadeAnew of [false, true]) {
      const { world } = await onDisk()
      await world.put(...itemsOf(3))
      const { engine } = world
      const container = await world.container()
      world.runner = afterPlanning(world, async () => {
        await engine.catalog.deleteContainer(container)
        while (await world.store.reclaim(1000)) {}
        if (!isMadeAnew) return
        const { id, partitionKey, definition, throughput } = container
        await engine.catalog.createContainer(container.database, {
          id,
          partitionKey,
          definition,
          throughput,
          defaultTtl: null,
        })
      })
      await assert.rejects(world.query('SELECT VALUE c.id FROM c WHERE c.n > 1'), { kind: 'namespace_not_found' })
      await world[Symbol.asyncDispose]()
    }
  })

  test('fails with the same error as in the main thread', async () => {
    const { world } = await onDisk()
    await world.put({ id: 'a', pk: 'p', list: Array.from({ length: 200 }, (_, n) => n) })
    const texts = [
      'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list JOIN d IN c.list',
      'SELECT VALUE c.id FROM c WHERE udf.nobody(c.id)',
    ]
    for (const text of texts) {
      const failures: unknown[] = []
      for (const runner of [undefined, world.thread]) {
        world.runner = runner
        const error: { name: string; kind: string; message: string } = await world.query(text).then(
          () => assert.fail(text),
          error => error,
        )
        failures.push([error.name, error.kind, error.message])
      }
      assert.deepEqual(failures[1], failures[0])
    }
    await world[Symbol.asyncDispose]()
  })
})

describe('the query thread', () => {
  const slow = 'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list WHERE a != b AND c.n < 3'

  async function withSlowPages() {
    const workers: Worker[] = []
    const path = join(directory, String(worlds++))
    const world = await QueryWorld.make({
      directory: path,
      startWorker: data => {
        workers.push(startWorker(data))
        return workers.at(-1)!
      },
    })
    const list = Array.from({ length: 500 }, (_, n) => n)
    await world.put(...Array.from({ length: 40 }, (_, n) => ({ id: `i${n}`, pk: 'p', n: n % 5, list })))
    await world.query('SELECT VALUE c.id FROM c WHERE c.n = 1')
    return { world, workers, path }
  }

  test('that dies loses no page: each is made again in a new thread', async () => {
    const { world, workers } = await withSlowPages()
    let started = 0
    const asked = [world.query(slow), world.query(slow)]
    world.runner = {
      run: task => {
        const run = world.thread!.run(task)
        setImmediate(() => {
          started = workers.length
          void workers[0]!.terminate()
        })
        return run
      },
    }
    asked.push(world.query(slow))
    const results = await Promise.all(asked)
    assert.deepEqual(results[1], results[0])
    assert.deepEqual(results[2], results[0])
    world.runner = world.thread
    assert.deepEqual(await world.query('SELECT VALUE COUNT(1) FROM c WHERE c.n = 1'), [8])
    assert.ok(workers.length > started, 'there is another thread')
    await world[Symbol.asyncDispose]()
  })

  test('that is ended in the middle of a page fails it, and leaves the file to the store alone', async () => {
    const { world, path } = await withSlowPages()
    const asked = assert.rejects(world.query(slow), { kind: 'unavailable' })
    await new Promise(resolve => setImmediate(resolve))
    await world[Symbol.asyncDispose]()
    await asked
    assert.deepEqual(
      readdirSync(path).filter(name => /-(wal|shm)$/.test(name)),
      [],
      'the WAL was checkpointed into the file',
    )
  })

  test('makes short pages between the slices of long ones', async () => {
    const { world } = await withSlowPages()
    let isDone = false
    const long = world.query(slow).then(() => {
      isDone = true
    })
    await world.query('SELECT VALUE c.id FROM c WHERE c.n = 1')
    assert.equal(isDone, false)
    await long
    await world[Symbol.asyncDispose]()
  })
})

describe('by default, a page', () => {
  async function counting() {
    const { world } = await onDisk()
    let count = 0
    const run = world.thread!.run.bind(world.thread)
    world.thread!.run = task => {
      count++
      return run(task)
    }
    return { world, remote: () => count }
  }

  /** Through the engine, which decides where the page is made. */
  async function ask(world: QueryWorld, text: string) {
    const prepared = prepareQuery(text)
    const parameters = new Map()
    const query = {
      range: everything,
      demands: demandsOf(prepared.query, parameters),
      program: (moment: number) => createProgram(prepared, { parameters, momentMs: moment * 1000 }),
      statement: () => ({ language: 'sql', text, parameters }) as const,
      mayIndex: () => false,
    }
    const page = await world.engine.queryPage(await world.container(), query, {
      position: undefined,
      rowsMax: 1000,
      bytesMax: 1e6,
    })
    return page.rows
  }

  test('is made in the query thread if it is long', async () => {
    const { world, remote } = await counting()
    await world.put(...itemsOf(inlineRowsMax + 1))
    assert.deepEqual(await ask(world, 'SELECT VALUE COUNT(c.n) FROM c WHERE c.n >= 0'), [String(inlineRowsMax + 1)])
    assert.equal(remote(), 1)
    await world[Symbol.asyncDispose]()
  })

  test('moves to the query thread if it turns out long', async () => {
    const { world, remote } = await counting()
    const list = Array.from({ length: 300 }, (_, n) => n)
    await world.put(...Array.from({ length: 20 }, (_, n) => ({ id: `i${n}`, pk: 'p', n, list })))
    const text = 'SELECT VALUE COUNT(1) FROM c JOIN a IN c.list JOIN b IN c.list WHERE a = b'
    assert.deepEqual(await ask(world, text), ['6000'])
    assert.equal(remote(), 1)
    await world[Symbol.asyncDispose]()
  })
})
