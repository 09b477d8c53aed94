/**
 * A PostgreSQL that fails, is slow, full, killed or not there: nothing happens twice, nothing acknowledged is
 * lost, and every request ends.
 */

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { CarefulWriter, untilHeard } from '../support/careful-writer.ts'
import { faultyProxy, randomNumbers } from '../support/faulty-proxy.ts'
import { put } from '../support/item-write.ts'
import { openGateway, startPostgres } from '../support/postgres.ts'
import { bucketIn, keysOfStripe } from '../support/stripe-keys.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const start = toEpochSeconds(1_000_000)
const seed = Number(process.env.MAYFLY_SEED ?? Math.floor(Math.random() * 2 ** 31))

/** A database with its stores and proxies; all are removed at the end of the test, however it ends. */
async function world() {
  const stack = new AsyncDisposableStack()
  const url = await server.createDatabase()
  stack.defer(() => server.dropDatabase(url))
  return {
    url,
    open: async (through = url) => stack.use(await openGateway(through, new ManualClock(start))),
    defer: (work: () => Promise<void>) => stack.defer(work),
    proxy: async (number: number) => stack.use(await faultyProxy(url, number)),
    [Symbol.asyncDispose]: () => stack[Symbol.asyncDispose](),
  }
}

/** A store with a short time-out for connections and answers that a proxy holds back. */
async function impatient(here: Awaited<ReturnType<typeof world>>) {
  const proxy = await here.proxy(1)
  const url = new URL(proxy.url)
  url.searchParams.set('query_timeout', '300')
  url.searchParams.set('connect_timeout', '1')
  // Creating the tables may take longer than the time-out.
  await here.open()
  return { proxy, store: await here.open(url.href) }
}

async function effectsIn(url: string): Promise<number> {
  const [row] = (await server.query(url, 'SELECT sum(lsn)::int AS writes FROM mayfly.counters')) as { writes: number }[]
  return row!.writes
}

/** The store must hold exactly what the writers know, and nothing else may have happened. */
async function check(store: Store, container: ContainerRecord, url: string, writers: readonly CarefulWriter[]) {
  const { items } = await store.scan(container, { min: '', maxExclusive: 'FF' }, { itemsMax: 1000, bytesMax: 1 << 24 })
  const known = writers.flatMap(writer => writer.known ?? [])
  const version = (item: { version: number }) => item.version
  assert.deepEqual(items.map(version).sort(), known.map(version).sort())
  assert.equal(
    await effectsIn(url),
    writers.reduce((sum, { effects }) => sum + effects, 0),
    'each happened once',
  )
}

describe('connections that break', () => {
  test(`cuts, delays and resets repeat and lose nothing, and the store recovers (seed ${seed})`, async () => {
    await using here = await world()
    const { url } = here
    const random = randomNumbers(seed)
    const proxies = [await here.proxy(seed), await here.proxy(seed + 1)]
    const stores = await Promise.all(proxies.map(proxy => here.open(proxy.url)))
    const container = await makeContainer(stores[0]!, null)
    const writers = Array.from(
      { length: 16 },
      (_, n) => new CarefulWriter(stores[n % 2]!, container, keyOf(`i${n}`, `p${n % 6}`)),
    )
    for (const trouble of [
      { delay: 0.05, cut: 0.01, reset: 0.01, delayMsMax: 5 },
      { delay: 0.2, cut: 0.05, reset: 0.05, delayMsMax: 20 },
      undefined,
    ]) {
      for (const proxy of proxies) proxy.trouble(trouble)
      const startMs = performance.now()
      await Promise.all(
        writers.map(async writer => {
          for (let n = 0; n < 15; n++) await writer.write(random)
        }),
      )
      if (trouble === undefined) assert.ok(performance.now() - startMs < 5000, 'all is well again at once')
    }
    assert.ok(proxies[0]!.broken + proxies[1]!.broken > 20, 'connections were broken')
    assert.ok(Math.max(...writers.map(({ longestMs }) => longestMs)) < 20_000, 'nobody waited for ever')
    for (const store of stores) await check(store, container, url, writers)
  })

  test('a network that drops everything silently is noticed, and the store recovers when it is back', async () => {
    await using here = await world()
    const { proxy, store } = await impatient(here)
    const container = await makeContainer(store, null)
    await store.write(container, put('create', keyOf('a')))
    proxy.stall(true)
    const startMs = performance.now()
    const asked = [store.write(container, put('create', keyOf('b'))), store.read(container, keyOf('a'))]
    await Promise.all(asked.map(each => assert.rejects(Promise.resolve(each), { kind: 'unavailable' })))
    assert.ok(performance.now() - startMs < 60_000)
    proxy.stall(false)
    assert.notEqual((await untilHeard(async () => store.read(container, keyOf('a')))).item, undefined)
    assert.equal((await untilHeard(() => store.write(container, put('create', keyOf('c'))))).outcome, 'created')
  })

  test('a call that was given up as lost cannot happen any more after a later write', async () => {
    await using here = await world()
    const { proxy, store } = await impatient(here)
    const container = await makeContainer(store, null)
    const keys = keysOfStripe(2)
    const [own] = keys as [ItemKey, ItemKey]
    for (const key of keys) await store.write(container, put('create', key))
    proxy.stall(true)
    const together = keys.map(key => store.write(container, put('replace', key, { content: { text: 'late' } })))
    await Promise.all(together.map(each => assert.rejects(each, { kind: 'unavailable' })))
    const deliver = proxy.strand()
    const step = { container, key: own, decide: () => put('upsert', own, { content: { text: 'behind it' } }) }
    const { version } = await untilHeard(() => store.transact([step]))
    await deliver()
    assert.equal((await untilHeard(async () => store.read(container, own))).item?.version, version)
  })

  test('a catalog change whose commit got no answer is recognised', async () => {
    await using here = await world()
    const proxy = await here.proxy(seed)
    const store = await here.open(proxy.url)
    const { database } = await makeContainer(store, null)
    proxy.trouble({ delay: 0, cut: 0.02, reset: 0.02, delayMsMax: 0 })
    const made: string[] = []
    for (let n = 0; n < 25; n++) {
      const draft = { ...(await untilHeard(async () => store.findContainer('d', 'c')))!, id: `c${n}`, rid: n }
      const { number: _, ...rest } = draft
      try {
        const record = await store.createContainer(database, rest)
        assert.notEqual(record, undefined, 'nobody else has taken the name')
        made.push(draft.id)
      } catch (error) {
        assert.equal((error as { kind?: string }).kind, 'unavailable')
      }
    }
    proxy.trouble(undefined)
    const there = (await untilHeard(async () => store.containers(database))).map(({ id }) => id)
    for (const id of made) assert.ok(there.includes(id))
    assert.ok(proxy.broken > 5)
  })
})

describe('a server in distress', () => {
  test('serialisation failures and deadlocks are retried, up to a limit', async () => {
    await using here = await world()
    const { url } = here
    const store = await here.open()
    const container = await makeContainer(store, null)
    const fail = (rate: number) => `
      CREATE OR REPLACE FUNCTION public.fail() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        IF random() < ${rate} THEN
          RAISE EXCEPTION 'as if' USING ERRCODE = CASE WHEN random() < 0.5 THEN '40001' ELSE '40P01' END;
        END IF;
        RETURN NEW;
      END $$`
    await server.query(url, fail(0.2))
    await server.query(
      url,
      'CREATE TRIGGER fail BEFORE UPDATE ON mayfly.counters FOR EACH ROW EXECUTE FUNCTION public.fail()',
    )
    const writes = Array.from({ length: 100 }, (_, n) => store.write(container, put('create', keyOf(`i${n}`, `p${n}`))))
    const outcomes = (await Promise.allSettled(writes)).map(result => result.status)
    assert.ok(outcomes.filter(status => status === 'fulfilled').length > 95)
    await server.query(url, fail(2))
    const startMs = performance.now()
    await assert.rejects(store.write(container, put('create', keyOf('x'))), { kind: 'unavailable' })
    assert.ok(performance.now() - startMs < 5000)
    await server.query(url, fail(-1))
    assert.equal((await store.write(container, put('create', keyOf('x')))).outcome, 'created')
  })

  test('a write that waits too long for a lock fails, and others are not delayed', async () => {
    await using here = await world()
    const { url } = here
    const impatient = new URL(url)
    impatient.searchParams.set('statement_timeout', '600')
    const store = await here.open(impatient.href)
    const other = await here.open(impatient.href)
    const container = await makeContainer(store, null)
    const busy = keyOf('a')
    await store.write(container, put('create', busy))
    const beside = keysOfStripe(4).filter(key => bucketIn(key) !== bucketIn(busy))
    const holding = server.query(
      url,
      `BEGIN; SELECT 1 FROM mayfly.counters WHERE bucket = ${bucketIn(busy)} FOR UPDATE; SELECT pg_sleep(2.5); COMMIT`,
    )
    await new Promise(resolve => setTimeout(resolve, 200))
    const blocked = store.write(container, put('replace', busy))
    // In the same turn, so that all go in one group.
    const together = beside.map(key => store.write(container, put('create', key)))
    for (const { outcome } of await Promise.all(together)) assert.equal(outcome, 'created')
    const far = keyOf('far', 'q')
    const both = [busy, far].map(key => ({ container, key, decide: () => put('upsert', key) }))
    const blockedBoth = other.transact(both)
    blockedBoth.catch(() => {})
    const free = ['b', 'c', 'd'].map(pk => keyOf('x', pk)).filter(key => bucketIn(key) !== bucketIn(busy))
    for (const key of free) assert.equal((await store.write(container, put('create', key))).outcome, 'created')
    assert.notEqual((await store.read(container, busy)).item, undefined)
    await assert.rejects(blocked, { kind: 'timed_out' })
    await assert.rejects(blockedBoth, { kind: 'timed_out' })
    await holding
    assert.equal((await store.write(container, put('replace', busy))).outcome, 'replaced')
  })

  test('a PostgreSQL with few free connections is enough', async () => {
    await using here = await world()
    const { url } = here
    const name = `few_${process.pid}`
    await server.query(url, `CREATE ROLE ${name} LOGIN PASSWORD 'few' CONNECTION LIMIT 4`)
    await server.query(url, `GRANT CREATE ON DATABASE ${new URL(url).pathname.slice(1)} TO ${name}`)
    here.defer(async () => {
      await server.query(url, `DROP OWNED BY ${name}`)
      await server.query(url, `DROP ROLE ${name}`)
    })
    const poor = new URL(url)
    poor.username = name
    poor.password = 'few'
    const store = await here.open(poor.href)
    const container = await makeContainer(store, null)
    const keys = Array.from({ length: 200 }, (_, n) => keyOf(`i${n}`, `p${n}`))
    const written = await Promise.all(keys.map(key => store.write(container, put('create', key))))
    assert.ok(written.every(({ outcome }) => outcome === 'created'))
    const read = await Promise.all(keys.map(key => store.read(container, key)))
    assert.ok(read.every(({ item }) => item !== undefined))
  })

  test('a PostgreSQL that is killed under load and started again has every acknowledged write', async t => {
    if (server.end === undefined) return t.skip('the server is not ours to kill')
    await using here = await world()
    const { url } = here
    const random = randomNumbers(seed)
    const stores = [await here.open(), await here.open()]
    const container = await makeContainer(stores[0]!, null)
    const writers = Array.from(
      { length: 16 },
      (_, n) => new CarefulWriter(stores[n % 2]!, container, keyOf(`i${n}`, `p${n % 6}`)),
    )
    let isOver = false
    const writing = writers.map(async writer => {
      while (!isOver) await writer.write(random)
    })
    const effects = () => writers.reduce((sum, writer) => sum + writer.effects, 0)
    const writeMore = async () => {
      const enough = effects() + 40
      while (effects() < enough) await new Promise(resolve => setTimeout(resolve, 10))
    }
    for (let crashes = 0; crashes < 2; crashes++) {
      await writeMore()
      await (await server.end('SIGKILL'))()
    }
    await writeMore()
    isOver = true
    await Promise.all(writing)
    for (const store of stores) await check(store, container, url, writers)
  })
})
