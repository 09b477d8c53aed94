import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { CapacityError } from '../../src/base/error.ts'
import { textOf } from '../../src/document/body.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { Step, WriteAnswer } from '../../src/store/writing.ts'
import { changeDefault, newPolicy } from '../../src/ttl/lifespan.ts'
import { put } from '../support/item-write.ts'
import { openGateway, startPostgres } from '../support/postgres.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const start = toEpochSeconds(1_000_000)
const everything = { min: '', maxExclusive: 'FF' }
const whole = { itemsMax: 10_000, bytesMax: 1 << 26 }

/** Two gateways to one database, each with its own clock. */
async function gateways() {
  const url = await server.createDatabase()
  const clocks = [new ManualClock(start), new ManualClock(start)] as const
  const stores = [await openGateway(url, clocks[0]), await openGateway(url, clocks[1])] as const
  return {
    url,
    clocks,
    stores,
    async [Symbol.asyncDispose]() {
      for (const store of stores) await store[Symbol.asyncDispose]()
      await server.dropDatabase(url)
    },
  }
}

async function setDefault(store: Store, container: ContainerRecord, defaultTtl: number | null): Promise<void> {
  await store.updateContainer(container, ({ throughput, definition, policy }, moment) => ({
    throughput,
    definition,
    policy: changeDefault(policy, defaultTtl, moment),
  }))
}

async function idsOf(store: Store, container: ContainerRecord): Promise<string[]> {
  const { items } = await store.scan(container, everything, whole)
  return items.map(({ key }) => key.id)
}

describe('two gateways to one PostgreSQL', () => {
  test('P14: both read the same journal while both write and rename, and each is woken by the other', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const database = (await one.createDatabase({ id: 'd', rid: 7, throughput: null }))!
    const container = (await one.createContainer(database, {
      ...{ id: 'c0', rid: 8, throughput: null, partitionCount: 1, encoding: 'bson', definition: {} },
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      policy: newPolicy(null),
      logSeconds: 100,
    }))!
    let isWriting = true
    const write = async (store: Store, pk: string) => {
      for (let n = 0; n < 60; n++) {
        const draft = Buffer.from(`${pk}${n}`)
        await store.write(container, { kind: 'create', key: keyOf(`${pk}${n}`, pk), draft, ttl: undefined })
      }
    }
    const rename = async (store: Store) => {
      for (let n = 1; n <= 5; n++) {
        const notes = [{ body: Buffer.from(`c${n - 1}`), endsName: true }]
        await store.updateContainer(container, () => ({ id: `c${n}`, notes }))
      }
    }
    const read = async (store: Store) => {
      const seen: string[] = []
      let after = 0
      for (;;) {
        const wasWriting = isWriting
        const page = await store.journal(after, { itemsMax: 7, bytesMax: 1 << 20 })
        for (const entry of page.entries) {
          const { ending, container: record } = entry
          const name = ending === undefined ? record?.id : Buffer.from(ending as Uint8Array).toString()
          seen.push(entry.kind === 'note' ? 'note' : `${entry.change.key.id} in ${name}`)
        }
        after = page.reached.tick
        if (!page.isEnd) continue
        if (!wasWriting) return seen
        await store.awaitJournal(after, { ms: 20 })
      }
    }
    const all = Promise.all([write(one, 'p'), write(other, 'q'), write(one, 'r'), write(other, 's'), rename(one)])
    const writing = all.finally(() => {
      isWriting = false
    })
    const [first, second] = await Promise.all([read(one), read(other), writing])
    assert.deepEqual(first, second)
    assert.equal(first.length, 4 * 60 + 5)
    let names = 0
    for (const entry of first) {
      if (entry === 'note') names++
      else assert.equal(entry.split(' in ')[1], `c${names}`)
    }
    const { tick } = await one.journalNow()
    const woken = other.awaitJournal(tick, { ms: 60_000 })
    await write(one, 't')
    assert.equal(await woken, true)
  })

  test('a default that one gateway changed is in force for the next read and scan of the other', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, null)
    await one.write(container, put('create', keyOf('a')))
    for (const clock of world.clocks) clock.advance(50)
    const theirs = (await other.findContainer('d', 'c'))!
    for (let round = 0; round < 10; round++) {
      await setDefault(one, container, null)
      assert.equal((await other.read(theirs, keyOf('a'))).policy.defaultTtl, null)
      await setDefault(one, container, 100 + round)
      const answer = await other.read(theirs, keyOf('a'))
      assert.equal(answer.policy.defaultTtl, 100 + round)
      assert.notEqual(answer.item, undefined)
      assert.equal((await other.findContainer('d', 'c'))!.policy.defaultTtl, 100 + round)
    }
    await setDefault(one, container, 50)
    assert.equal((await other.read(theirs, keyOf('a'))).item, undefined)
    assert.deepEqual(await idsOf(other, theirs), [])
    assert.equal((await other.write(theirs, put('replace', keyOf('a')))).outcome, 'missing')
    await setDefault(other, theirs, null)
    assert.deepEqual(await idsOf(one, container), [], 'what one saw dead is dead for the other')
  })

  test('the gateway whose clock is ahead moves the clock of the other', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, 10)
    await other.write(container, put('create', keyOf('a')))
    world.clocks[0].advance(10)
    assert.equal((await one.read(container, keyOf('a'))).item, undefined)
    const { item, moment } = await other.read(container, keyOf('a'))
    assert.deepEqual({ item, moment }, { item: undefined, moment: start + 10 })
    const again = await other.write(container, put('create', keyOf('a')))
    assert.deepEqual([again.outcome, again.item!.ts], ['created', start + 10])
  })

  test('an item that one gateway saw dead is never alive again, however writes and ticks race', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, -1)
    let saved = 0
    let died = 0
    for (let round = 0; round < 12; round++) {
      const keys = Array.from({ length: 40 }, (_, n) => keyOf(`r${round}-${n}`, `p${n}`))
      await Promise.all(keys.map(key => other.write(container, put('create', key, { ttl: 1 }))))
      const longer = keys.map(key => other.write(container, put('replace', key, { ttl: 1000 })))
      // If writes are slow, none would be in time.
      if (round % 2 === 1) await Promise.race(longer)
      world.clocks[0].advance(1)
      const seen = await Promise.all(keys.map(key => one.read(container, key)))
      await Promise.all(longer)
      const later = await Promise.all(keys.map(key => other.read(container, key)))
      for (const [n, { item }] of seen.entries()) {
        if (item === undefined) assert.equal(later[n]!.item, undefined, 'the dead stay dead')
        if (item === undefined) died++
        else saved++
      }
    }
    assert.ok(died > 0 && saved > 0, `${died} died and ${saved} were saved: both sides of the race were met`)
  })

  test('the clock does not tick while a judged write is not committed', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, -1)
    await other.write(container, put('create', keyOf('a'), { ttl: 1 }))
    for (const text of [
      'CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.3); RETURN ' +
        'NEW; END $$',
      'CREATE TRIGGER slow BEFORE UPDATE ON mayfly.items FOR EACH ROW EXECUTE FUNCTION public.slow()',
    ]) {
      await server.query(world.url, text)
    }
    const writing = other.write(container, put('replace', keyOf('a'), { ttl: 1000 }))
    await new Promise(resolve => setTimeout(resolve, 100))
    world.clocks[0].advance(1)
    const { item, moment } = await one.read(container, keyOf('a'))
    const written = await writing
    assert.deepEqual([written.outcome, written.moment, moment], ['replaced', start, start + 1])
    assert.equal(item?.version, written.version, 'it was not seen dead while it was being replaced')
    await server.query(world.url, 'DROP FUNCTION public.slow CASCADE')
  })

  test('transactions of both gateways that read and write the same items lose no update', async () => {
    await using world = await gateways()
    const container = await makeContainer(world.stores[0], null)
    const keys = [keyOf('a', 'p'), keyOf('b', 'q')]
    const count = (item: { body: string | Uint8Array } | undefined) =>
      item === undefined ? 0 : (JSON.parse(textOf(item.body)).n as number)
    const increment = (key: ItemKey): Step => ({
      container,
      key,
      decide: found => put('upsert', key, { content: { n: count(found) + 1 } }),
    })
    const counting = world.stores.flatMap(store =>
      Array.from({ length: 20 }, async (_, n) => {
        const steps = n % 2 === 0 ? keys.map(increment) : [increment(keys[0]!)]
        assert.equal((await store.transact(steps)).refusal, undefined)
      }),
    )
    await Promise.all(counting)
    const found = await Promise.all(keys.map(async key => count((await world.stores[0].read(container, key)).item)))
    assert.deepEqual(found, [40, 20])
  })

  test('answers around a tick come in the order of their moments', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, 1000)
    const answers: Promise<unknown>[] = []
    // The contract in front of each store asserts the order (P6).
    for (let round = 0; round < 40; round++) {
      world.clocks[round % 2]!.set(start + round)
      for (const store of [one, other, one, other]) {
        answers.push(Promise.resolve(store.read(container, keyOf(`i${round}`))), Promise.resolve(store.moment()))
      }
      if (round % 4 === 0) await one.write(container, put('upsert', keyOf('a')))
    }
    await Promise.all(answers)
    assert.equal(await other.moment(), start + 39)
  })

  test('a clock that was restored to an earlier second returns to the latest second that was seen', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, 10)
    await one.write(container, put('create', keyOf('a')))
    world.clocks[0].advance(10)
    assert.equal((await one.read(container, keyOf('a'))).item, undefined)
    await server.query(world.url, 'UPDATE mayfly.clock SET now = now - 5')
    assert.equal((await one.read(container, keyOf('a'))).item, undefined, 'the dead stay dead')
    assert.equal(await other.moment(), start + 10)
  })

  test('a container that one gateway deleted and created again is at once a new container for the other', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    let container = await makeContainer(one, null)
    for (let round = 0; round < 5; round++) {
      const theirs = (await other.findContainer('d', 'c'))!
      assert.equal(theirs.number, container.number)
      assert.equal(await other.findContainer('d', 'c'), theirs, 'what did not change is the same object')
      await other.write(theirs, put('create', keyOf('a')))
      await one.deleteContainer(container)
      assert.equal(await other.findContainer('d', 'c'), undefined)
      await assert.rejects(async () => other.read(theirs, keyOf('a')), { kind: 'namespace_not_found' })
      await assert.rejects(other.write(theirs, put('create', keyOf('b'))), { kind: 'namespace_not_found' })
      container = await makeContainer(one, null)
      assert.equal((await other.read(container, keyOf('a'))).item, undefined)
    }
    while (await other.reclaim(10)) await one.reclaim(10)
    const left = await server.query(world.url, 'SELECT count(*)::int AS n FROM mayfly.items')
    assert.deepEqual(left, [{ n: 0 }])
  })

  test('of concurrent creates of one id exactly one wins, and no version is used twice', async () => {
    await using world = await gateways()
    const container = await makeContainer(world.stores[0], null)
    const creates: Promise<WriteAnswer>[] = []
    for (let round = 0; round < 40; round++) {
      const key = keyOf(`i${round}`, `p${round % 5}`)
      for (const store of [...world.stores, ...world.stores]) creates.push(store.write(container, put('create', key)))
    }
    const outcomes = await Promise.all(creates)
    for (let round = 0; round < 40; round++) {
      const of = outcomes.slice(round * 4, round * 4 + 4).map(({ outcome }) => outcome)
      assert.deepEqual(of.sort(), ['created', 'exists', 'exists', 'exists'])
    }
    const upserts = world.stores.map(store =>
      Promise.all(Array.from({ length: 200 }, (_, n) => store.write(container, put('upsert', keyOf(`i${n % 3}`))))),
    )
    const written = await Promise.all(upserts)
    for (const answers of written) {
      const versions = answers.map(({ item }) => item!.version)
      assert.deepEqual(
        versions,
        versions.toSorted((a, b) => a - b),
      )
    }
    const versions = [...outcomes, ...written.flat()].flatMap(({ item }) => (item === undefined ? [] : [item.version]))
    assert.equal(new Set(versions).size, 40 + 400)
  })

  test('of concurrent writes that expect the same version exactly one succeeds', async () => {
    await using world = await gateways()
    const container = await makeContainer(world.stores[0], null)
    let { version: expected } = await world.stores[0].write(container, put('create', keyOf('a')))
    for (let round = 0; round < 20; round++) {
      const write = { ...put('replace', keyOf('a')), ifVersion: expected }
      const answers = await Promise.all(world.stores.map(store => store.write(container, write)))
      assert.deepEqual(answers.map(({ outcome }) => outcome).sort(), ['changed', 'replaced'])
      expected = answers.find(({ outcome }) => outcome === 'replaced')!.version
    }
  })

  test('purgers share the work, remove nothing twice, and lose no item that is written meanwhile', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, -1)
    const keys = Array.from({ length: 4000 }, (_, n) => keyOf(`i${n}`, `p${n % 40}`))
    // Both write, so that both have their connections when the purge starts.
    await Promise.all(
      keys.map((key, n) => world.stores[n % 2]!.write(container, put('create', key, { ttl: n % 4 === 0 ? 100 : 5 }))),
    )
    for (const clock of world.clocks) clock.advance(5)
    const purge = async (store: Store) => {
      let removed = 0
      for (let isDone = false; !isDone; ) {
        const swept = await store.sweep(container, 100)
        removed += swept.removed
        isDone = swept.done
      }
      return removed
    }
    const revived = keys.filter((_, n) => n % 4 === 1)
    const [first, second, ...answers] = await Promise.all([
      purge(one),
      purge(other),
      ...revived.map((key, n) => world.stores[n % 2]!.write(container, put('create', key, { ttl: 100 }))),
    ])
    assert.ok(answers.every(({ outcome }) => outcome === 'created'))
    const { rows } = await one.census(container)
    assert.equal(rows, 2000, 'the living and those that were written under the purgers')
    assert.equal((await idsOf(other, container)).length, rows)
    const [counted] = (await server.query(world.url, 'SELECT count(*)::int AS n FROM mayfly.items')) as { n: number }[]
    assert.equal(counted!.n, rows)
    assert.ok(first + second <= 3000 && first + second >= 2000, `${first} + ${second}`)
    assert.ok(first > 0 && second > 0, `${first} and ${second}: both have worked`)
  })

  test('an index that one gateway builds is exact, even if the other writes meanwhile', async () => {
    await using world = await gateways()
    const [one, other] = world.stores
    const container = await makeContainer(one, null)
    const components = [{ path: ['a'], isDescending: false }]
    let isWriting = true
    const writers = [0, 1, 2, 3].map(async writer => {
      for (let n = 0; isWriting; n++) {
        const key = keyOf(`i${n % 50}`, `p${writer}-${n % 7}`)
        const write = n % 5 === 4 ? ({ kind: 'delete', key } as const) : put('upsert', key, { content: { a: n } })
        await (writer % 2 === 0 ? one : other).write(container, write)
      }
    })
    for (let number = 1; number <= 4; number++) {
      const { indexes } = (await one.createIndex(container, { components, isDeclared: false }))!
      assert.equal(indexes.at(-1)!.definition.number, number)
      while (!(await (number % 2 === 0 ? one : other).buildIndex(container, number, 100)));
      if (number === 3) await other.dropIndex(container, number)
    }
    isWriting = false
    await Promise.all(writers)
    while (await one.reclaim(1000));
    const items = `SELECT sequence, (body::json ->> 'a')::int AS a FROM mayfly.items ORDER BY sequence`
    const expected = (await server.query(world.url, items)) as { sequence: string; a: number }[]
    assert.ok(expected.length > 50)
    for (const number of [1, 2, 4]) {
      const entries = `SELECT sequence, encode(key, 'hex') AS key FROM mayfly.entries
        WHERE number = ${number} ORDER BY sequence`
      const found = await server.query(world.url, entries)
      const keyOfValue = (a: number) =>
        Buffer.from(indexKeys({ number, components, uniqueness: 'none' }, { a }).keys[0]!).toString('hex')
      assert.deepEqual(
        found,
        expected.map(({ sequence, a }) => ({ sequence, key: keyOfValue(a) })),
        `index ${number}`,
      )
    }
    const left = `SELECT count(*)::int AS n FROM mayfly.entries WHERE number = 3`
    assert.deepEqual(await server.query(world.url, left), [{ n: 0 }])
  })

  test('with cut connections no write happens twice or is lost', async () => {
    await using world = await gateways()
    const container = await makeContainer(world.stores[0], null)
    let isWriting = true
    const cutting = (async () => {
      const cut = `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'mayfly'
        AND datname = current_database() AND random() < 0.3`
      let cuts = 0
      while (isWriting) cuts += (await server.query(world.url, cut)).length
      return cuts
    })()
    const outcomes = new Map<string, string>()
    for (let round = 0; round < 30; round++) {
      const writes = Array.from({ length: 20 }, async (_, n) => {
        const key = keyOf(`i${round}-${n}`, `p${n % 4}`)
        try {
          outcomes.set(key.id, (await world.stores[n % 2]!.write(container, put('create', key))).outcome)
        } catch (error) {
          if (!(error instanceof CapacityError)) throw error
          outcomes.set(key.id, 'unknown')
        }
      })
      await Promise.all(writes)
    }
    isWriting = false
    assert.ok((await cutting) > 0)
    const there = new Set(await idsOf(world.stores[0], container))
    for (const [id, outcome] of outcomes) {
      assert.notEqual(outcome, 'exists', `${id} was written by nobody else`)
      if (outcome === 'created') assert.ok(there.has(id), `${id} is there`)
    }
    assert.equal((await world.stores[0].census(container)).rows, there.size)
    assert.ok([...outcomes.values()].filter(outcome => outcome === 'created').length > 300)
  })
})
