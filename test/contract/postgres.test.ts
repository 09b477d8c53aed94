import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import { anyElement, type IndexComponent } from '../../src/document/index-definition.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import { etagForm, etagOf, itemRid, itemRidForm } from '../../src/nosql/http/resource-id.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey, StampGap } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { IndexPosition, IndexRange } from '../../src/store/reading.ts'
import type { ItemWrite } from '../../src/store/writing.ts'
import { faultyProxy } from '../support/faulty-proxy.ts'
import { forgetfulProxy } from '../support/forgetful-proxy.ts'
import { put } from '../support/item-write.ts'
import { openGateway, startPostgres } from '../support/postgres.ts'
import { bucketIn, keysOfStripe } from '../support/stripe-keys.ts'
import { changeContract } from './change-contract.ts'
import { journalContract } from './journal-contract.ts'
import { keyOf, makeContainer, type Opener, storeContract } from './store-contract.ts'
import { transactionContract } from './transaction-contract.ts'
import { verdictContract } from './verdict-contract.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

async function prepare(): Promise<Opener> {
  const url = await server.createDatabase()
  return {
    isLasting: true,
    open: clock => openGateway(url, clock),
    [Symbol.asyncDispose]: () => server.dropDatabase(url),
  }
}

storeContract('PostgreSQL', prepare)
transactionContract('PostgreSQL', prepare)
changeContract('PostgreSQL', prepare)
journalContract('PostgreSQL', prepare)
verdictContract('PostgreSQL', prepare)

const start = toEpochSeconds(1_000_000)

test('the database prints stamps exactly as the protocol edge does', async () => {
  const url = await server.createDatabase()
  const store = await openGateway(url, new ManualClock(start))
  const owner = (await store.createDatabase({ id: 'd', rid: 0x3ffbef00, throughput: null }))!
  const made = await makeContainer(store, null)
  const container = { ...made, rid: 0xfffefdfc, database: owner }
  const gaps: StampGap[] = [
    { name: 'sequence', print: sequence => itemRid(container, sequence), form: itemRidForm(container) },
    { name: 'version', print: version => etagOf(container.rid, version), form: etagForm(container.rid) },
    { name: 'ts', print: String, form: { before: '', number: 'decimal' } },
  ]
  for (let at = 0; at < 30; at++) {
    const draft = { texts: ['{"r":"', '","e":"', '","t":', '}'], stamps: gaps }
    const write = { kind: 'create', key: keyOf(`i${at}`), draft, ttl: undefined } as const
    const { item } = await store.write(made, write)
    const { sequence, version, ts } = item!
    const expected = { r: itemRid(container, sequence), e: etagOf(container.rid, version), t: ts }
    assert.equal(item!.body, JSON.stringify(expected))
  }
  await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a write whose commit got no answer is recognised and not done again', async () => {
  const url = await server.createDatabase()
  await using proxy = await forgetfulProxy(url)
  const store = await openGateway(proxy.url, new ManualClock(start))
  const container = await makeContainer(store, null)
  const other = await openGateway(url, new ManualClock(start))
  // In one bucket, and in several at once.
  const [key, ...together] = keysOfStripe(4) as [ItemKey, ...ItemKey[]]
  const outcomes: string[] = []
  const changes = [
    (at: ItemKey) => put('create', at),
    (at: ItemKey) => put('replace', at),
    (at: ItemKey) => ({ kind: 'delete', key: at }) as const,
    (at: ItemKey) => put('upsert', at),
    (at: ItemKey) => put('upsert', at),
  ]
  for (const change of changes) {
    for (const keys of [[key], together]) {
      proxy.forgetNextWrite()
      const [answers] = await Promise.all([
        Promise.all(keys.map(at => store.write(container, change(at)))),
        other.write(container, put('upsert', { ...key, id: `other${outcomes.length}` })),
      ])
      for (const [index, at] of keys.entries()) {
        assert.deepEqual((await other.read(container, at)).item, answers[index]!.item)
      }
      outcomes.push(...answers.map(({ outcome }) => outcome))
    }
  }
  const expected = ['created', 'replaced', 'deleted', 'created', 'replaced']
  assert.deepEqual(
    outcomes,
    expected.flatMap(outcome => [outcome, outcome, outcome, outcome]),
  )
  // In the group, the write that changes nothing comes after those that change something.
  const [first, second, last] = together.toSorted((a, b) => bucketIn(a) - bucketIn(b)) as [ItemKey, ItemKey, ItemKey]
  await store.write(container, { kind: 'delete', key: last })
  proxy.forgetNextWrite()
  const mixed = await Promise.all([last, second, first].map(at => store.write(container, put('replace', at))))
  assert.deepEqual(
    mixed.map(({ outcome }) => outcome),
    ['missing', 'replaced', 'replaced'],
  )
  assert.equal(proxy.forgotten, 11)
  assert.equal((await store.census(container)).rows, 3 + 10)
  const counters = 'SELECT sum(lsn)::int AS writes FROM mayfly.counters'
  assert.deepEqual(await server.query(url, counters), [{ writes: 33 }], 'each happened once')
  await store[Symbol.asyncDispose]()
  await other[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a catalog change whose commit got no answer is uncertain while PostgreSQL is away', async () => {
  const url = await server.createDatabase()
  await using proxy = await forgetfulProxy(url)
  const store = await openGateway(proxy.url, new ManualClock(start))
  const container = await makeContainer(store, null)
  const { number: _, ...draft } = container
  proxy.loseNextCommit()
  const made = store.createContainer(container.database, { ...draft, id: 'lost', rid: 7 })
  await assert.rejects(made, /may or may not have happened/)
  assert.equal(proxy.forgotten, 1)
  const there = await server.query(url, "SELECT count(*)::int AS containers FROM mayfly.containers WHERE id = 'lost'")
  assert.deepEqual(there, [{ containers: 1 }], 'it did')
  proxy.refuse(false)
  await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a group of writes to several buckets, with any number for each, does every write', async () => {
  const url = await server.createDatabase()
  const store = await openGateway(url, new ManualClock(start))
  const container = await makeContainer(store, null)
  const keys = keysOfStripe(5).flatMap((key, n) =>
    Array.from({ length: 1 + ((n * 3) % 4) }, (_, id) => ({ ...key, id: `i${id}` })),
  )
  const asked = keys.toReversed().map((key, n) => ({ key, content: { n } }))
  const answers = await Promise.all(
    asked.map(({ key, content }) => store.write(container, put('create', key, { content }))),
  )
  assert.ok(answers.every(({ outcome }) => outcome === 'created'))
  for (const [index, { key, content }] of asked.entries()) {
    const { item } = await store.read(container, key)
    assert.deepEqual(item, answers[index]!.item)
    assert.deepEqual(JSON.parse(textOf(item!.body)), { ...content, id: key.id, v: item!.version })
  }
  await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a transaction waits for a running write of the same gateway, and sees it', async () => {
  const url = await server.createDatabase()
  const store = await openGateway(url, new ManualClock(start))
  const container = await makeContainer(store, null)
  for (const statement of [
    'CREATE FUNCTION public.slow() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_sleep(0.2); RETURN ' +
      'NEW; END $$',
    'CREATE TRIGGER slow BEFORE INSERT ON mayfly.items FOR EACH ROW EXECUTE FUNCTION public.slow()',
  ]) {
    await server.query(url, statement)
  }
  const key = keyOf('a')
  const written = store.write(container, put('create', key))
  await new Promise(resolve => setTimeout(resolve, 50))
  const seen: unknown[] = []
  const decide = (found: unknown) => {
    seen.push(found !== undefined)
    return undefined
  }
  await store.transact([{ container, key, decide }])
  assert.deepEqual(seen, [true])
  await written
  await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a store without its database is unavailable, and works again when the database is back', async () => {
  const url = await server.createDatabase()
  const proxy = await forgetfulProxy(url)
  const store = await openGateway(proxy.url, new ManualClock(start))
  const container = await makeContainer(store, null)
  await store.write(container, put('create', keyOf('a')))
  proxy.refuse(true)
  await assert.rejects(store.write(container, put('create', keyOf('b'))), { kind: 'unavailable' })
  await assert.rejects(async () => store.read(container, keyOf('a')), { kind: 'unavailable' })
  await assert.rejects(async () => store.findContainer('d', 'c'), { kind: 'unavailable' })
  proxy.refuse(false)
  assert.notEqual((await store.read(container, keyOf('a'))).item, undefined)
  assert.equal((await store.write(container, put('create', keyOf('b')))).outcome, 'created')
  await store[Symbol.asyncDispose]()
  await proxy[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

test('a new database is found at once, even while earlier lookups are still waiting for answers', async () => {
  const url = await server.createDatabase()
  await using proxy = await faultyProxy(url, 7)
  const store = await openGateway(proxy.url, new ManualClock(start))
  proxy.trouble({ delay: 0.5, cut: 0, reset: 0, delayMsMax: 15 })
  let isOver = false
  const looking = [1, 2, 3].map(async () => {
    while (!isOver) {
      await store.findDatabase('nobody')
      await new Promise(resolve => setTimeout(resolve, Math.random() * 3))
    }
  })
  for (let n = 0; n < 25; n++) {
    await store.createDatabase({ id: `d${n}`, rid: n, throughput: null })
    assert.notEqual(await store.findDatabase(`d${n}`), undefined, `d${n}`)
  }
  isOver = true
  await Promise.all(looking)
  await store[Symbol.asyncDispose]()
  await server.dropDatabase(url)
})

describe('indexes in PostgreSQL', () => {
  const a: IndexComponent = { path: ['a'], isDescending: false }
  const definitions: (readonly IndexComponent[])[] = [
    [a],
    [{ path: ['tags', anyElement], isDescending: false }],
    [a, { path: ['n', 'b'], isDescending: true }],
  ]

  function contentOf(seed: number): object {
    const values = [seed % 7, `text ${seed % 5}`, null, true, 'long'.repeat(100) + (seed % 3), undefined]
    return { a: values[seed % 6], n: { b: seed % 4 }, tags: [seed % 3, `t${seed % 4}`, seed % 3] }
  }

  function* history(): Generator<ItemWrite> {
    for (let step = 0; step < 400; step++) {
      const key = keyOf(`i${(step * 7) % 120}`, `p${((step * 7) % 120) % 9}`)
      if (step % 11 === 10) yield { kind: 'delete', key }
      else yield put('upsert', key, { content: contentOf(step), ...(step % 5 === 0 ? { ttl: 10 } : {}) })
    }
  }

  /**
   * All entries of a range, page by page; in order, those with equal keys by id because stores number items
   * differently.
   */
  async function walk(store: Store, container: ContainerRecord, range: IndexRange, itemsMax: number) {
    const found: { key: string; id: string; body: unknown }[] = []
    let after: IndexPosition | undefined
    do {
      const page = await store.scanIndex(container, { ...range, after }, { itemsMax, bytesMax: 2000 })
      for (const { indexKey, key, body } of page.items) {
        found.push({
          key: Buffer.from(indexKey).toString('hex'),
          id: key.id,
          body: { ...JSON.parse(textOf(body)), v: 0 },
        })
      }
      after = page.last
    } while (after !== undefined)
    const keys = found.map(({ key }) => key)
    assert.deepEqual(keys, range.isReverse ? keys.toSorted().reverse() : keys.toSorted(), 'in order')
    return found.sort((x, y) => (x.key === y.key ? (x.id < y.id ? -1 : 1) : x.key < y.key ? -1 : 1))
  }

  test('have the same entries and give the same pages as indexes in SQLite', async () => {
    const url = await server.createDatabase()
    const clock = new ManualClock(start)
    const embedded = withContract(openSqlite({ directory: undefined, clock: () => clock, onFatal: () => {} }))
    const stores = [await openGateway(url, clock), embedded] as const
    const containers = [await makeContainer(stores[0], 100), await makeContainer(stores[1], 100)] as const
    const writes = [...history()]
    for (const [n, store] of stores.entries()) {
      let container = containers[n]!
      for (const write of writes.slice(0, 150)) await store.write(container, write)
      for (const components of definitions) {
        container = (await store.createIndex(container, { components, isDeclared: false }))!
      }
      for (const write of writes.slice(150, 200)) await store.write(container, write)
      for (const { definition } of container.indexes) {
        for (let steps = 0; !(await store.buildIndex(container, definition.number, 10)); steps++) {
          await store.write(container, writes[200 + steps]!)
        }
      }
      await Promise.all(writes.slice(200).map(write => store.write(container, write)))
    }
    const low = Buffer.alloc(0)
    const high = Buffer.alloc(1, 255)
    const middle = indexKeys({ number: 1, components: [a], uniqueness: 'none' }, { a: 4 }).keys[0]!
    const last = indexKeys({ number: 1, components: [a], uniqueness: 'none' }, { a: 'text 2' }).keys[0]!
    const ranges = [
      [{ low, high }],
      [
        { low, high: middle },
        { low: last, high },
      ],
    ]
    const compare = async () => {
      for (const index of [1, 2, 3]) {
        for (const keys of ranges) {
          for (const isReverse of [false, true]) {
            const range = { index, keys, isReverse, within: { min: '', maxExclusive: 'FF' } }
            const walks = await Promise.all(
              stores.map((store, n) => walk(store, containers[n]!, range, isReverse ? 7 : 1000)),
            )
            assert.ok(walks[0]!.length > 10)
            assert.deepEqual(walks[0], walks[1])
          }
          const counts = await Promise.all(
            stores.map((store, n) => store.countEntries(containers[n]!, { index, keys })),
          )
          assert.equal(counts[0], counts[1])
        }
        const { epk, pk } = keyOf('', 'p3')
        const within = { min: epk, maxExclusive: `${epk}FF`, pk }
        const range = { index, keys: ranges[0]!, isReverse: false, within }
        const [first, second] = await Promise.all(stores.map((store, n) => walk(store, containers[n]!, range, 5)))
        assert.deepEqual(first, second)
      }
      const records = await Promise.all(stores.map(async store => (await store.findContainer('d', 'c'))!.indexes))
      assert.deepEqual(records[0], records[1])
      assert.ok(records[0]!.every(({ isReady }) => isReady))
    }
    await compare()
    clock.advance(10)
    await compare()
    for (const [n, store] of stores.entries()) while (!(await store.sweep(containers[n]!, 7)).done);
    await compare()
    const [ours] = stores
    await ours.dropIndex(containers[0], 2)
    while (await ours.reclaim(50));
    const left = await server.query(url, 'SELECT DISTINCT number FROM mayfly.entries ORDER BY number')
    assert.deepEqual(left, [{ number: 1 }, { number: 3 }])
    const again = await ours.createIndex(containers[0], { components: [a], isDeclared: true })
    assert.equal(again!.indexes.at(-1)!.definition.number, 4, 'the number of a dropped index is not given again')
    for (const store of stores) await store[Symbol.asyncDispose]()
    await server.dropDatabase(url)
  })
})
