/**
 * Every promise of the storage port that needs more than one call to check, as a suite that each adapter
 * runs.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { RequestError } from '../../src/base/error.ts'
import { type Body, textOf } from '../../src/document/body.ts'
import { effectivePartitionKey } from '../../src/document/effective-partition-key.ts'
import { keyRange } from '../../src/document/ordered-key.ts'
import { canonicalPartitionKey } from '../../src/document/partition-key.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { Draft, ItemKey, ScannedItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { type IndexPosition, placeOf, type RowPosition, type RowRange } from '../../src/store/reading.ts'
import type { ItemWrite } from '../../src/store/writing.ts'
import { changeDefault, newPolicy } from '../../src/ttl/lifespan.ts'

/** Opens the store, and the same one again if it outlives closing; the clock is the caller's. */
export interface Opener extends AsyncDisposable {
  readonly isLasting: boolean
  open(clock: ManualClock): Promise<Store>
}

const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const

export function keyOf(id: string, pk = 'p'): ItemKey {
  return { epk: effectivePartitionKey(partitionKey, [pk]), pk: canonicalPartitionKey([pk]), id }
}

const decimal = { before: '', number: 'decimal' } as const

const draft = (text: string): Draft => ({
  texts: [`{"text":${JSON.stringify(text)},"n":`, ',"v":', ',"ts":', '}'],
  stamps: [
    { name: 'sequence', print: String, form: decimal },
    { name: 'version', print: String, form: decimal },
    { name: 'ts', print: String, form: decimal },
  ],
})

function put(
  kind: 'create' | 'replace' | 'upsert',
  key: ItemKey,
  options: { ttl?: number; text?: string; ifVersion?: number } = {},
): ItemWrite {
  return {
    kind,
    key,
    ttl: options.ttl,
    draft: draft(options.text ?? ''),
    ifVersion: options.ifVersion,
  }
}

export async function makeContainer(
  store: Store,
  defaultTtl: number | null,
  id = 'c',
  partitionCount = 1,
): Promise<ContainerRecord> {
  const database =
    (await store.findDatabase('d')) ?? (await store.createDatabase({ id: 'd', rid: 7, throughput: null }))!
  const record = await store.createContainer(database, {
    id,
    rid: 8,
    throughput: null,
    partitionKey,
    partitionCount,
    encoding: 'json',
    policy: newPolicy(defaultTtl),
    logSeconds: null,
    definition: { any: ['thing', null, 1.5] },
  })
  return record!
}

async function setDefault(
  store: Store,
  container: ContainerRecord,
  defaultTtl: number | null,
): Promise<ContainerRecord> {
  const changed = await store.updateContainer(container, (current, moment) => ({
    policy: changeDefault(current.policy, defaultTtl, moment),
  }))
  return changed!
}

function parse(body: Body) {
  return JSON.parse(textOf(body))
}

const everything = { min: '', maxExclusive: 'FF' }
const whole = { itemsMax: 1000, bytesMax: 1 << 24 }

async function ids(store: Store, container: ContainerRecord): Promise<string[]> {
  const { items } = await store.scan(container, everything, whole)
  return items.map(({ body }) => parse(body).text).sort()
}

export function storeContract(name: string, prepare: () => Promise<Opener>): void {
  const start = toEpochSeconds(1_000_000)

  async function fresh() {
    const opener = await prepare()
    const clock = new ManualClock(start)
    const store = await opener.open(clock)
    return { opener, clock, store }
  }

  describe(`the store contract over ${name}`, () => {
    test('P1: each of many concurrent reads gets its own answer', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 100)
      const lasting = await makeContainer(store, -1, 'lasting')
      const gone = await makeContainer(store, null, 'gone')
      // In several buckets, and more than fit into one PostgreSQL statement.
      const names = Array.from({ length: 50 }, (_, n) => `${n}`)
      const keyAt = (id: string) => keyOf(id, `partition ${id}`)
      const own = [{}, { ttl: 50 }, { ttl: -1 }] as const
      const ownOf = (id: string): { ttl?: number } => own[Number(id) % own.length]!
      for (const each of [container, lasting, gone]) {
        await Promise.all(
          names.map(id => store.write(each, put('create', keyAt(id), { ...ownOf(id), text: `${each.id} ${id}` }))),
        )
      }
      await store.deleteContainer(gone)
      const readAll = (each: ContainerRecord) => names.map(async id => await store.read(each, keyAt(id)))
      for (const seconds of [49, 50, 100]) {
        clock.set(start + seconds)
        const [first, second, absent, removed] = await Promise.all([
          Promise.all(readAll(container)),
          Promise.all(readAll(lasting)),
          Promise.all(names.map(id => store.read(container, keyOf(id, 'elsewhere')))),
          Promise.allSettled(readAll(gone)),
        ])
        for (const [n, id] of names.entries()) {
          const texts = [first[n]!, second[n]!].map(({ item }) => item && parse(item.body).text)
          const expected = (each: ContainerRecord, defaultTtl: number) => {
            const { ttl = defaultTtl } = ownOf(id)
            return ttl === -1 || seconds < ttl ? `${each.id} ${id}` : undefined
          }
          assert.deepEqual(texts, [expected(container, 100), expected(lasting, -1)], `${id} after ${seconds} s`)
          assert.equal(absent[n]!.item, undefined)
          assert.equal(removed[n]!.status, 'rejected')
        }
        for (const { moment } of [...first, ...second, ...absent]) assert.equal(moment, start + seconds)
      }
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P1: at its deadline an item is in no read and no scan; a second earlier it is in both', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 100)
      await store.write(container, put('create', keyOf('inherits'), { text: 'inherits' }))
      await store.write(container, put('create', keyOf('own'), { ttl: 50, text: 'own' }))
      await store.write(container, put('create', keyOf('never'), { ttl: -1, text: 'never' }))
      for (const [seconds, expected] of [
        [0, ['inherits', 'never', 'own']],
        [49, ['inherits', 'never', 'own']],
        [50, ['inherits', 'never']],
        [99, ['inherits', 'never']],
        [100, ['never']],
        [1_000_000_000, ['never']],
      ] as const) {
        clock.set(start + seconds)
        assert.deepEqual(await ids(store, container), expected, `after ${seconds} s`)
        for (const id of ['inherits', 'own', 'never']) {
          const { item, moment } = await store.read(container, keyOf(id))
          assert.equal(item !== undefined, (expected as readonly string[]).includes(id), `${id} after ${seconds} s`)
          assert.equal(moment, start + seconds)
        }
      }
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P1: an item is found by its sequence number, changed or not, while it lives', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, -1)
      const other = await makeContainer(store, -1, 'other')
      const sequences = new Map<string, number>()
      for (const id of ['a', 'b', 'c', 'd']) {
        const { item } = await store.write(container, put('create', keyOf(id, `partition ${id}`), { ttl: 50 }))
        sequences.set(id, item!.sequence)
      }
      const found = async (id: string, within = container) =>
        (await store.readBySequence(within, sequences.get(id)!)).item
      await store.write(container, put('replace', keyOf('b', 'partition b'), { ttl: -1, text: 'new' }))
      await store.write(container, { kind: 'delete', key: keyOf('c', 'partition c') })
      await store.write(container, put('create', keyOf('c', 'partition c')))
      assert.deepEqual((await found('a'))?.key, keyOf('a', 'partition a'))
      assert.deepEqual((await found('b'))?.key, keyOf('b', 'partition b'))
      assert.equal(parse((await found('b'))!.body).text, 'new')
      assert.equal(await found('c'), undefined, 'another item has the id now')
      for (const id of sequences.keys()) assert.equal(await found(id, other), undefined)
      clock.set(start + 50)
      assert.equal(await found('a'), undefined, 'it is dead')
      assert.deepEqual((await found('b'))?.key, keyOf('b', 'partition b'))
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P2: a write finds the version it expects or changes nothing', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, null)
      const created = await store.write(container, put('create', keyOf('a'), { text: 'one' }))
      assert.equal(created.outcome, 'created')
      assert.equal((await store.write(container, put('create', keyOf('a')))).outcome, 'exists')
      assert.equal((await store.write(container, put('replace', keyOf('b')))).outcome, 'missing')
      assert.equal((await store.write(container, { kind: 'delete', key: keyOf('b') })).outcome, 'missing')
      const stale = created.version + 100
      assert.equal((await store.write(container, put('replace', keyOf('a'), { ifVersion: stale }))).outcome, 'changed')
      assert.equal((await store.write(container, put('upsert', keyOf('a'), { ifVersion: stale }))).outcome, 'changed')
      assert.equal(
        (await store.write(container, { kind: 'delete', key: keyOf('a'), ifVersion: stale })).outcome,
        'changed',
      )
      assert.equal(parse((await store.read(container, keyOf('a'))).item!.body).text, 'one')
      const replaced = await store.write(
        container,
        put('replace', keyOf('a'), { ifVersion: created.version, text: 'two' }),
      )
      assert.equal(replaced.outcome, 'replaced')
      assert.equal(replaced.item!.sequence, created.item!.sequence, 'a replaced item stays the same incarnation')
      assert.ok(replaced.version > created.version)
      assert.deepEqual({ ...(await store.read(container, keyOf('a'))).item }, replaced.item)
      assert.equal(
        (await store.write(container, { kind: 'delete', key: keyOf('a'), ifVersion: replaced.version })).outcome,
        'deleted',
      )
      assert.equal((await store.read(container, keyOf('a'))).item, undefined)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P2: the stamps in the body are those of the row', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, null)
      await store.write(container, put('create', keyOf('a')))
      clock.advance(5)
      const { item } = await store.write(container, put('upsert', keyOf('a')))
      const { n, v, ts } = parse(item!.body)
      assert.deepEqual({ n, v, ts }, { n: item!.sequence, v: item!.version, ts: start + 5 })
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P3: create and upsert over a dead item make a new incarnation; replace and delete find nothing', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 10)
      for (const kind of ['create', 'upsert'] as const) {
        const first = await store.write(container, put(kind, keyOf(kind)))
        clock.advance(10)
        assert.equal((await store.write(container, put('replace', keyOf(kind)))).outcome, 'missing')
        assert.equal((await store.write(container, { kind: 'delete', key: keyOf(kind) })).outcome, 'missing')
        const second = await store.write(container, put(kind, keyOf(kind)))
        assert.equal(second.outcome, 'created')
        assert.notEqual(second.item!.sequence, first.item!.sequence)
        assert.notEqual(second.item!.version, first.item!.version)
        assert.equal(
          (await store.write(container, put('replace', keyOf(kind), { ifVersion: first.version }))).outcome,
          'changed',
        )
      }
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P4: pages have key order and skip and repeat nothing while items die, are removed and written', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, -1)
      const lasting: string[] = []
      for (let index = 0; index < 300; index++) {
        const id = `i${index}`
        const isShort = index % 3 === 0
        if (!isShort) lasting.push(id)
        await store.write(
          container,
          put('create', keyOf(id, `p${index % 17}`), { text: id, ...(isShort ? { ttl: 5 } : {}) }),
        )
      }
      const seen: string[] = []
      let after: ItemKey | undefined
      const positions = new Set<string>()
      for (let page = 0; ; page++) {
        const { items, last } = await store.scan(
          container,
          { ...everything, after },
          { itemsMax: 7, bytesMax: 1 << 20 },
        )
        seen.push(...items.map(({ body }) => parse(body).text))
        if (last === undefined) break
        const position = `${last.epk} ${last.pk} ${last.id}`
        assert.ok(!positions.has(position), 'the position moves on')
        positions.add(position)
        after = last
        if (page === 3) clock.advance(5)
        if (page === 5) await store.sweep(container, 50)
      }
      assert.equal(new Set(seen).size, seen.length, 'none twice')
      for (const id of lasting) assert.ok(seen.includes(id), `${id} is there`)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P4: a scan keeps to its range, its partition key and its bytes', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, null)
      for (const pk of ['x', 'y']) {
        for (const id of ['1', '2', '3']) await store.write(container, put('create', keyOf(id, pk), { text: pk + id }))
      }
      const { epk, pk } = keyOf('', 'x')
      const only = await store.scan(container, { min: epk, maxExclusive: `${epk}FF`, pk }, whole)
      assert.deepEqual(
        only.items.map(({ body }) => parse(body).text),
        ['x1', 'x2', 'x3'],
      )
      assert.equal(only.last, undefined)
      const first = await store.scan(container, everything, { itemsMax: 10, bytesMax: 1 })
      assert.equal(first.items.length, 1, 'one item always fits')
      assert.notEqual(first.last, undefined)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    for (const partitionCount of [1, 2]) {
      const name = `made with ${partitionCount} partition(s)`
      test(`P4: parts of a range go on behind a position of the whole range, in a container ${name}`, async () => {
        const { opener, store } = await fresh()
        const container = await makeContainer(store, 100, 'c', partitionCount)
        const names = Array.from({ length: 300 }, (_, n) => `k${n}`)
        await Promise.all(names.map(text => store.write(container, put('upsert', keyOf(text, text), { text }))))
        for (const itemsMax of [1, 7, 150]) {
          const first = await store.scan(container, everything, { ...whole, itemsMax })
          const seen = first.items.map(({ body }) => parse(body).text)
          for (const [min, maxExclusive] of [
            ['', '08'],
            ['08', '1F'],
            ['1F', '30'],
            ['30', 'FF'],
          ] as const) {
            let after = first.last
            do {
              const { items, last } = await store.scan(
                container,
                { min, maxExclusive, after },
                { ...whole, itemsMax: 20 },
              )
              assert.ok(items.every(({ key }) => key.epk >= min && key.epk < maxExclusive))
              seen.push(...items.map(({ body }) => parse(body).text))
              after = last
            } while (after !== undefined)
          }
          assert.equal(seen.length, 300)
          assert.deepEqual(seen.toSorted(), names.toSorted())
        }
        await store[Symbol.asyncDispose]()
        await opener[Symbol.asyncDispose]()
      })
    }

    test('P4: a partition key read backwards has the opposite order, from any position, while items die', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, -1)
      const names = ['\u{10ffff}', '\uffff', 'é', ...Array.from({ length: 60 }, (_, n) => `i${n}`)]
      for (const [at, id] of names.entries()) {
        const ttl = id.startsWith('i') && at % 3 === 0 ? { ttl: 5 } : {}
        for (const pk of ['x', 'y', 'z'])
          await store.write(container, put('create', keyOf(id, pk), { text: id, ...ttl }))
      }
      const { epk, pk } = keyOf('', 'y')
      const range = { min: epk, maxExclusive: `${epk}FF`, pk }
      const texts = (items: readonly ScannedItem[]) => items.map(({ body }) => parse(body).text)
      const forward = (await store.scan(container, range, whole)).items
      const backward = await store.scan(container, { ...range, isReverse: true }, whole)
      assert.deepEqual(texts(backward.items), texts(forward).reverse())
      assert.equal(backward.items.length, names.length)
      assert.equal(backward.last, undefined)
      const after = forward[9]!.key
      const before = await store.scan(container, { ...range, isReverse: true, after }, whole)
      assert.deepEqual(texts(before.items), texts(forward.slice(0, 9)).reverse())

      const seen: string[] = []
      let position: ItemKey | undefined
      for (let page = 0; page === 0 || position !== undefined; page++) {
        const answer = await store.scan(
          container,
          { ...range, isReverse: true, after: position },
          { itemsMax: 7, bytesMax: page === 2 ? 1 : 1 << 20 },
        )
        if (page === 2) assert.equal(answer.items.length, 1, 'one item always fits')
        seen.push(...texts(answer.items))
        position = answer.last
        if (page === 1) clock.advance(5)
        if (page === 3) await store.sweep(container, 30)
      }
      const lasting = texts((await store.scan(container, range, whole)).items).reverse()
      assert.ok(lasting.length < names.length)
      assert.deepEqual(
        seen.filter(id => lasting.includes(id)),
        lasting,
      )
      assert.equal(new Set(seen).size, seen.length, 'none twice')
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P4: a long run of dead items does not end a page early, and none of them is shown', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, -1)
      const writes: Promise<unknown>[] = []
      for (let index = 0; index < 12_000; index++) {
        writes.push(
          store.write(container, put('create', keyOf(`d${index}`, `p${index % 50}`), { ttl: 1, text: 'dead' })),
        )
      }
      await Promise.all(writes)
      await store.write(container, put('create', keyOf('z', 'p1'), { text: 'alive' }))
      clock.advance(1)
      const { items, last } = await store.scan(container, everything, { itemsMax: 10, bytesMax: 1 << 20 })
      assert.deepEqual(
        items.map(({ body }) => parse(body).text),
        ['alive'],
      )
      assert.equal(last, undefined)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P5: sweeps remove only dead items, at most the given number, and say when they are done', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 10)
      for (let index = 0; index < 20; index++) {
        await store.write(container, put('create', keyOf(`inherits${index}`), { text: 'dies' }))
        await store.write(container, put('create', keyOf(`own${index}`), { ttl: 5, text: 'dies' }))
        await store.write(container, put('create', keyOf(`stays${index}`), { ttl: 100, text: 'stays' }))
      }
      assert.deepEqual(await store.sweep(container, 100), { removed: 0, done: true })
      clock.advance(10)
      assert.deepEqual(await store.sweep(container, 15), { removed: 15, done: false })
      assert.deepEqual(await store.sweep(container, 15), { removed: 15, done: false })
      assert.deepEqual(await store.sweep(container, 10), { removed: 10, done: true })
      assert.equal((await store.census(container)).rows, 20)
      assert.deepEqual(await ids(store, container), Array(20).fill('stays'))
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P5: an item is not removed in the second before its deadline, and is in the next one', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 10)
      await store.write(container, put('create', keyOf('inherits'), { text: 'inherits' }))
      await store.write(container, put('create', keyOf('own'), { ttl: 20, text: 'own' }))
      for (const [seconds, removed] of [
        [9, 0],
        [1, 1],
        [9, 0],
        [1, 1],
      ] as const) {
        clock.advance(seconds)
        assert.deepEqual(await store.sweep(container, 100), { removed, done: true })
      }
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P6 and P7: moments and versions continue after the store is opened again', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, null)
      const { version } = await store.write(container, put('create', keyOf('a')))
      await store.write(container, { kind: 'delete', key: keyOf('a') })
      clock.advance(1000)
      assert.equal(await store.moment(), start + 1000)
      await store[Symbol.asyncDispose]()
      if (!opener.isLasting) return
      const again = await opener.open(new ManualClock(start))
      assert.equal(await again.moment(), start + 1000, 'a clock set back does not take the store with it')
      const reopened = (await again.findContainer('d', 'c'))!
      const after = await again.write(reopened, put('create', keyOf('a')))
      assert.ok(after.version > version + 1, 'the version of a deleted item is not given again')
      assert.equal(after.item!.ts, start + 1000)
      await again[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P8: a changed default takes effect at once, writes no item, and revives nothing', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, null)
      const { item: before } = await store.write(container, put('create', keyOf('a'), { text: 'a' }))
      await store.write(container, put('create', keyOf('t'), { ttl: 30, text: 't' }))
      clock.advance(40)
      assert.deepEqual(await ids(store, container), ['a', 't'], 'ttl is only data while expiry is off')
      let changed = await setDefault(store, container, 100)
      assert.deepEqual(await ids(store, changed), ['a'], 'it counts once expiry is on')
      assert.deepEqual({ ...(await store.read(changed, keyOf('a'))).item }, before, 'the item itself is as it was')
      clock.advance(60)
      assert.deepEqual(await ids(store, changed), [])
      for (const later of [1000, null, -1, 2_147_483_647]) {
        changed = await setDefault(store, changed, later)
        assert.deepEqual(await ids(store, changed), [], `a default of ${later} revives nobody`)
      }
      await store.write(changed, put('create', keyOf('a'), { text: 'new' }))
      assert.deepEqual(await ids(store, changed), ['new'], 'what is written afterwards lives')
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('the records of databases and containers come back as they were stored', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 60)
      await store.updateDatabase(container.database, () => ({ throughput: { kind: 'manual', ruPerSecond: 700 } }))
      clock.advance(5)
      await setDefault(store, container, 90)
      const split = await store.updateContainer(container, () => ({ partitionSplits: 3 }))
      assert.equal(split!.partitionSplits, 3)
      const before = { databases: await store.databases(), container: await store.findContainer('d', 'c') }
      assert.deepEqual(before.container!.database, before.databases[0], 'a container knows its database as it is now')
      await store[Symbol.asyncDispose]()
      if (!opener.isLasting) return
      const again = await opener.open(new ManualClock(start))
      assert.deepEqual({ databases: await again.databases(), container: await again.findContainer('d', 'c') }, before)
      await again[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('names are unique, deleted containers take no writes, and a later namesake is another container', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, 10)
      assert.equal(await store.createDatabase({ id: 'd', rid: 9, throughput: null }), undefined)
      assert.equal(await store.createContainer(container.database, { ...container, rid: 10 }), undefined)
      await store.write(container, put('create', keyOf('a')))
      assert.equal(await store.deleteContainer(container), true)
      assert.equal(await store.deleteContainer(container), false)
      await assert.rejects(store.write(container, put('create', keyOf('b'))), { kind: 'namespace_not_found' })
      const namesake = await makeContainer(store, 10)
      assert.notEqual(namesake.number, container.number)
      assert.equal((await store.read(namesake, keyOf('a'))).item, undefined)
      await assert.rejects(async () => store.read(container, keyOf('a')), RequestError)
      while (await store.reclaim(1)) {
        // Removes the rows of the deleted container step by step.
      }
      assert.equal(await store.deleteDatabase(container.database), true)
      assert.equal(await store.findContainer('d', 'c'), undefined)
      assert.deepEqual(await store.databases(), [])
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('a container can be renamed, unless the name is taken, and keeps everything else', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 10)
      await makeContainer(store, null, 'other')
      await store.write(container, put('create', keyOf('a'), { text: 'one' }))
      assert.equal(await store.updateContainer(container, () => ({ id: 'other' })), undefined)
      assert.notEqual(await store.findContainer('d', 'c'), undefined)
      const renamed = (await store.updateContainer(container, () => ({ id: 'new' })))!
      assert.equal(await store.findContainer('d', 'c'), undefined)
      assert.equal((await store.findContainer('d', 'new'))?.number, container.number)
      assert.equal(parse((await store.read(renamed, keyOf('a'))).item!.body).text, 'one')
      clock.advance(10)
      assert.equal((await store.read(renamed, keyOf('a'))).item, undefined)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('a refused change of a container leaves it and its neighbours in the commit as they were', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, 10)
      const refused = store.updateContainer(container, () => {
        throw new RequestError('malformed', 'no')
      })
      const accepted = store.write(container, put('create', keyOf('a')))
      await assert.rejects(refused, { kind: 'malformed' })
      assert.equal((await accepted).outcome, 'created')
      assert.deepEqual(await store.findContainer('d', 'c'), container)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('writes of one turn see each other, in the order of their calls', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, null)
      const outcomes = await Promise.all([
        store.write(container, put('create', keyOf('a'))),
        store.write(container, put('create', keyOf('a'))),
        store.write(container, put('replace', keyOf('a'))),
        store.write(container, { kind: 'delete', key: keyOf('a') }),
        store.write(container, put('replace', keyOf('a'))),
        store.write(container, put('upsert', keyOf('a'))),
      ])
      assert.deepEqual(
        outcomes.map(({ outcome }) => outcome),
        ['created', 'exists', 'replaced', 'deleted', 'missing', 'created'],
      )
      const versions = outcomes.filter(({ item }) => item).map(({ item }) => item!.version)
      assert.deepEqual(
        versions,
        [...new Set(versions)].sort((a, b) => a - b),
      )
      assert.equal((await store.census(container)).rows, 1)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('any text comes back as it was: NUL, astral characters, quotes, two megabytes', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, null)
      const texts = ['', 'a\u0000b', '😀漢', '"\\', 'x'.repeat(2_000_000)]
      for (const [index, text] of texts.entries()) {
        const key = keyOf(`id\u0000${index}😀`, `pk\u0000${index}`)
        await store.write(container, put('create', key, { text }))
        assert.equal(parse((await store.read(container, key)).item!.body).text, text)
      }
      assert.equal((await store.census(container)).rows, texts.length)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('index keys come from the stored body, stamps included, before and after the index is built', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, null)
      await store.write(container, put('create', keyOf('old'), { text: 'old' }))
      clock.advance(5)
      const components = [{ path: ['ts'], isDescending: false }]
      const indexed = (await store.createIndex(container, { components, isDeclared: false }))!
      const index = indexed.indexes[0]!.definition.number
      await store.write(container, put('create', keyOf('new'), { text: 'new' }))
      while (!(await store.buildIndex(container, index, 1))) {
        // Builds the index item by item.
      }
      const found = async (ts: number) => {
        const { low, high } = keyRange({ equals: ts })
        const range = { index, keys: [{ low, high }], isReverse: false, within: everything }
        return (await store.scanIndex(container, range, whole)).items.map(({ body }) => parse(body).text)
      }
      assert.deepEqual([await found(start), await found(start + 5)], [['old'], ['new']])
      clock.advance(5)
      await store.write(container, put('replace', keyOf('old'), { text: 'replaced' }))
      await store.write(container, { kind: 'delete', key: keyOf('new') })
      assert.deepEqual([await found(start), await found(start + 5), await found(start + 10)], [[], [], ['replaced']])
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('an index is read over many key ranges, in both directions and in pages of any size', async () => {
      const { opener, store } = await fresh()
      const container = await makeContainer(store, null)
      const texts = Array.from({ length: 300 }, (_, n) => String(n).padStart(3, '0'))
      const stored = [0, 3, 63, 64, 65, 127, 128, 200, 299].map(n => texts[n]!)
      for (const text of stored) await store.write(container, put('create', keyOf(text), { text }))
      const components = [{ path: ['text'], isDescending: false }]
      const indexed = (await store.createIndex(container, { components, isDeclared: false }))!
      const index = indexed.indexes[0]!.definition.number
      while (!(await store.buildIndex(container, index, 100))) {
        // Builds the index.
      }
      const keys = texts.map(text => keyRange({ equals: text }))
      for (const isReverse of [false, true]) {
        for (const itemsMax of [1, 3, 100]) {
          const found: string[] = []
          let after: IndexPosition | undefined
          do {
            const range = { index, keys, isReverse, after, within: everything }
            const page = await store.scanIndex(container, range, { ...whole, itemsMax })
            found.push(...page.items.map(({ body }) => parse(body).text))
            after = page.last
          } while (after !== undefined)
          assert.deepEqual(found, isReverse ? stored.toReversed() : stored)
        }
      }
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('P15: rows are listed by second, deadline or creation, alive or dead, in pages of any size', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, 10)
      for (let index = 0; index < 40; index++) {
        if (index % 3 === 0) clock.advance(1)
        const ttl = index % 2 === 0 ? {} : { ttl: index % 7 === 0 ? -1 : 50 - index }
        const key = keyOf(`i${index}`, `partition ${index % 5}`)
        await store.write(container, put('create', key, { text: `i${index}`, ...ttl }))
      }
      clock.advance(20)
      const list = async (by: RowRange['by'], isReverse: boolean, itemsMax: number, after = -1, upTo = 2 ** 53 - 1) => {
        const rows: ScannedItem[] = []
        let behind: RowPosition | undefined
        do {
          const page = await store.listRows(container, { by, after, upTo, isReverse, behind }, { ...whole, itemsMax })
          rows.push(...page.rows)
          behind = page.last
        } while (behind !== undefined)
        return rows
      }
      const texts = (rows: readonly ScannedItem[]) => rows.map(({ body }) => parse(body).text)
      for (const by of ['inherited', 'own', 'creation'] as const) {
        const all = await list(by, false, 1000)
        assert.equal(all.length, by === 'creation' ? 40 : 20)
        for (const itemsMax of [1, 3, 7]) {
          assert.deepEqual(texts(await list(by, false, itemsMax)), texts(all))
          assert.deepEqual(texts(await list(by, true, itemsMax)), texts(all).reverse())
        }
        const at = all.map(row => placeOf(row, by).at)
        const [after, upTo] = [at[5]!, at[12]!]
        const within = all.filter((_, index) => at[index]! > after && at[index]! <= upTo)
        assert.deepEqual(texts(await list(by, false, 2, after, upTo)), texts(within))
        assert.deepEqual(texts(await list(by, true, 2, after, upTo)), texts(within).reverse())
      }
      const small = await store.listRows(
        container,
        { by: 'creation', after: -1, upTo: 2 ** 53 - 1, isReverse: false },
        { itemsMax: 1000, bytesMax: 1 },
      )
      assert.equal(small.rows.length, 1)
      assert.notEqual(small.last, undefined)
      const key = keyOf('i3', 'partition 3')
      assert.deepEqual((await list('own', false, 1000)).find(row => row.key.id === 'i3')?.key, key)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })

    test('cohorts are counted exactly, even over many slices, and the census knows the earliest deadline', async () => {
      const { opener, clock, store } = await fresh()
      const container = await makeContainer(store, -1)
      const writes: Promise<unknown>[] = []
      for (let index = 0; index < 11_000; index++) {
        if (index % 1000 === 0) {
          await Promise.all(writes)
          clock.advance(1)
        }
        writes.push(store.write(container, put('create', keyOf(`i${index}`), index % 2 === 0 ? {} : { ttl: 100 })))
      }
      await Promise.all(writes)
      const count = (lifespan: 'inherited' | 'own', after: number, upTo: number) =>
        store.count(container, { lifespan, after, upTo })
      assert.equal(await count('inherited', 0, start + 11), 5500)
      assert.equal(await count('inherited', start + 1, start + 3), 1000)
      assert.equal(await count('own', 0, Number.MAX_SAFE_INTEGER), 5500)
      assert.equal(await count('own', start + 101, start + 102), 500)
      assert.equal(await count('own', start + 111, start + 500), 0)
      const { version, writes: counted, ...census } = await store.census(container)
      assert.deepEqual(census, {
        rows: 11_000,
        earliestInherited: start + 1,
        earliestOwn: start + 101,
        earliestLogged: null,
      })
      assert.ok(version >= 11_000, 'every write has a version of its own')
      await store.write(container, put('replace', keyOf('i0')))
      assert.equal((await store.census(container)).writes, counted + 1)
      await store[Symbol.asyncDispose]()
      await opener[Symbol.asyncDispose]()
    })
  })
}
