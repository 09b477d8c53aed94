/**
 * The promises of the storage port about the order of changes and the log, as a suite that each adapter runs.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ScannedItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { ChangePosition, LogEntry, ScanRange } from '../../src/store/reading.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { put } from '../support/item-write.ts'
import { fc } from '../support/property.ts'
import { keyOf, type Opener } from './store-contract.ts'

const start = toEpochSeconds(1_000_000)
const everything: ScanRange = { min: '', maxExclusive: 'FF' }

async function loggedContainer(store: Store, logSeconds: number | null, defaultTtl: number | null = null) {
  const database =
    (await store.findDatabase('d')) ?? (await store.createDatabase({ id: 'd', rid: 7, throughput: null }))!
  const container = await store.createContainer(database, {
    id: 'c',
    rid: 8,
    throughput: null,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    partitionCount: 1,
    encoding: 'json',
    policy: newPolicy(defaultTtl),
    logSeconds,
    definition: {},
  })
  return container!
}

const n = ({ body }: { body: string | Uint8Array }) => JSON.parse(textOf(body)).n

/** Reads changes to their end, in pages of the given size. */
async function readOn(
  store: Store,
  container: ContainerRecord,
  from: ChangePosition,
  itemsMax: number,
  within = everything,
) {
  const items: ScannedItem[] = []
  let after = from
  for (;;) {
    const page = await store.changes(container, { within, after }, { itemsMax, bytesMax: 1 << 20 })
    items.push(...page.items)
    after = page.position
    if (page.isEnd) return { items, position: after }
  }
}

async function readLog(store: Store, container: ContainerRecord, from: ChangePosition, itemsMax = 3) {
  const entries: LogEntry[] = []
  let after = from
  for (;;) {
    const page = await store.log(container, { within: everything, after }, { itemsMax, bytesMax: 1 << 20 })
    assert.equal(page.isForgotten, false)
    entries.push(...page.entries)
    after = page.position
    if (page.isEnd) return { entries, position: after }
  }
}

export function changeContract(name: string, prepare: () => Promise<Opener>): void {
  async function within(work: (store: Store, clock: ManualClock) => Promise<void>): Promise<void> {
    const opener = await prepare()
    const clock = new ManualClock(start)
    const store = await opener.open(clock)
    await work(store, clock)
    await store[Symbol.asyncDispose]()
    await opener[Symbol.asyncDispose]()
  }

  describe(`the order of changes over ${name}`, () => {
    test('P12: each living item comes once, at its last change, in commit order within its partition key', () =>
      within(async store => {
        const container = await loggedContainer(store, null)
        for (const id of ['a', 'b', 'c', 'd'])
          await store.write(container, put('create', keyOf(id), { content: { n: 1 } }))
        await store.write(container, put('replace', keyOf('b'), { content: { n: 2 } }))
        await store.write(container, put('replace', keyOf('a'), { content: { n: 2 } }))
        await store.write(container, { kind: 'delete', key: keyOf('c') })
        await store.write(container, put('create', keyOf('e'), { content: { n: 1 } }))
        for (const itemsMax of [1, 2, 100]) {
          const { items, position } = await readOn(store, container, '0', itemsMax)
          assert.deepEqual(
            items.map(item => [item.key.id, n(item)]),
            [
              ['d', 1],
              ['b', 2],
              ['a', 2],
              ['e', 1],
            ],
          )
          assert.deepEqual((await readOn(store, container, position, itemsMax)).items, [])
        }
        const now = await store.changesNow(container)
        await store.write(container, put('replace', keyOf('d'), { content: { n: 2 } }))
        const { items } = await readOn(store, container, now, 10)
        assert.deepEqual(
          items.map(({ key }) => key.id),
          ['d'],
        )
      }))

    test('P12: no dead item comes, and an item that died since the last page makes no other item missing', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, null, -1)
        for (const [at, ttl] of [5, -1, 5, -1, 7].entries()) {
          await store.write(container, put('create', keyOf(`${at}`), { content: { n: at }, ttl }))
        }
        const first = await store.changes(
          container,
          { within: everything, after: '0' },
          { itemsMax: 1, bytesMax: 1000 },
        )
        assert.deepEqual(first.items.map(n), [0])
        clock.advance(5)
        assert.deepEqual((await readOn(store, container, first.position, 1)).items.map(n), [1, 3, 4])
        await store.sweep(container, 100)
        assert.deepEqual((await readOn(store, container, first.position, 1)).items.map(n), [1, 3, 4])
        assert.deepEqual((await readOn(store, container, '0', 100)).items.map(n), [1, 3, 4])
      }))

    test('P12: what changes while a large page is read comes once, on that page or behind it', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, null, 5)
        const text = 'x'.repeat(400_000)
        const ids = [...'abcdefgh']
        for (const id of ids) await store.write(container, put('create', keyOf(id), { content: { n: 1, text } }))
        const size = { itemsMax: 7, bytesMax: 10_000_000 }
        const reading = store.changes(container, { within: everything, after: '0' }, size)
        await Promise.all(
          ['a', 'd'].map(id =>
            store.write(container, put('replace', keyOf(id), { content: { n: 2, text: '' }, ttl: -1 })),
          ),
        )
        clock.advance(5)
        const page = await reading
        const idsOfPage = page.items.map(({ key }) => key.id)
        assert.equal(new Set(idsOfPage).size, idsOfPage.length, idsOfPage.join(' '))
        assert.ok(page.items.length <= size.itemsMax)
        const { items } = await readOn(store, container, page.position, 10)
        assert.deepEqual(
          ['a', 'd'].map(id => [...page.items, ...items].findLast(({ key }) => key.id === id)).map(item => n(item!)),
          [2, 2],
        )
      }))

    test('P12: the changes of a part of the container are only those of that part', () =>
      within(async store => {
        const container = await loggedContainer(store, null)
        for (const pk of ['p', 'q', 'p', 'r']) {
          const { rows } = await store.census(container)
          await store.write(container, put('create', keyOf(`${rows}`, pk), { content: { n: rows } }))
        }
        const { epk, pk } = keyOf('', 'p')
        const { items } = await readOn(store, container, '0', 1, { min: epk, maxExclusive: `${epk}FF`, pk })
        assert.deepEqual(items.map(n), [0, 2])
      }))

    test('P12: all changes from a second on come after the position of that second', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, null)
        for (let second = 0; second < 30; second++) {
          await store.write(container, put('create', keyOf(`${second}`), { content: { n: second } }))
          if (second % 3 === 0) {
            await store.write(container, put('upsert', keyOf(`${second >> 1}`), { content: { n: second } }))
          }
          clock.advance(1)
        }
        for (let second = 0; second <= 30; second += 5) {
          const moment = toEpochSeconds(start + second)
          const { items } = await readOn(store, container, await store.changesSince(container, moment), 4)
          const { items: all } = await readOn(store, container, '0', 100)
          const wanted = all.filter(({ ts }) => ts >= moment).map(({ key }) => key.id)
          assert.deepEqual(
            items.filter(({ ts }) => ts >= moment).map(({ key }) => key.id),
            wanted,
          )
        }
      }))

    test('P12: during writes a reader sees the last version of every item and never an older one after a newer', () =>
      within(async store => {
        const container = await loggedContainer(store, null)
        const seen = new Map<string, number>()
        const last = new Map<string, number>()
        let isWriting = true
        const writer = async (salt: number) => {
          for (let round = 0; round < 30; round++) {
            const id = `${(round * 7 + salt) % 11}`
            const pk = `p${salt % 3}`
            const answer = await store.write(container, put('upsert', keyOf(id, pk), { content: { n: round } }))
            const name = `${pk}/${id}`
            last.set(name, Math.max(last.get(name) ?? 0, answer.item!.version))
          }
        }
        const reader = async () => {
          let after: ChangePosition = '0'
          for (;;) {
            const isLast = !isWriting
            const page = await store.changes(
              container,
              { within: everything, after },
              { itemsMax: 7, bytesMax: 1 << 20 },
            )
            for (const { key, version } of page.items) {
              const name = `${JSON.parse(key.pk)}/${key.id}`
              assert.ok(version > (seen.get(name) ?? 0), `${name} came at ${version} after ${seen.get(name)}`)
              seen.set(name, version)
            }
            after = page.position
            if (page.isEnd && isLast) return
            await new Promise<void>(resolve => setImmediate(resolve))
          }
        }
        const reading = reader()
        await Promise.all([0, 1, 2, 3, 4, 5].map(writer))
        isWriting = false
        await reading
        assert.deepEqual([...seen].sort(), [...last].sort())
      }))
  })

  describe(`the log over ${name}`, () => {
    test('P13: has every version, delete and death once, with the version that it replaced', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 600, -1)
        const from = await store.logNow(container)
        const write = (kind: 'create' | 'replace', id: string, value: number, ttl?: number) =>
          store.write(container, put(kind, keyOf(id), { content: { n: value }, ...(ttl && { ttl }) }))
        await write('create', 'a', 1)
        await write('replace', 'a', 2)
        await write('create', 'b', 3, 5)
        await write('create', 'c', 4, 5)
        await write('create', 'a', 9)
        await store.write(container, { kind: 'delete', key: keyOf('a') })
        clock.advance(5)
        await write('create', 'b', 5)
        await store.sweep(container, 100)
        await store.sweep(container, 100)
        const { entries } = await readLog(store, container, from)
        assert.deepEqual(
          entries.map(({ kind, key, body, previous }) => [
            kind,
            key.id,
            body === undefined ? undefined : n({ body }),
            previous === undefined ? undefined : n(previous),
          ]),
          [
            ['create', 'a', 1, undefined],
            ['replace', 'a', 2, 1],
            ['create', 'b', 3, undefined],
            ['create', 'c', 4, undefined],
            ['delete', 'a', undefined, 2],
            ['expire', 'b', undefined, 3],
            ['create', 'b', 5, undefined],
            ['expire', 'c', undefined, 4],
          ],
        )
        const versions = entries.map(({ version }) => version)
        assert.deepEqual(
          versions,
          versions.toSorted((a, b) => a - b),
        )
        assert.equal(new Set(versions).size, versions.length)
      }))

    test('P13: all entries from a second on come after the position of that second', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 600, -1)
        for (let second = 0; second < 30; second++) {
          await store.write(container, put('create', keyOf(`${second}`), { content: { n: second }, ttl: 3 }))
          if (second % 2 === 0) await store.write(container, { kind: 'delete', key: keyOf(`${second}`) })
          clock.advance(1)
          await store.sweep(container, 100)
        }
        const { entries: all } = await readLog(store, container, '0')
        for (let second = 0; second <= 30; second += 5) {
          const moment = toEpochSeconds(start + second)
          const { entries } = await readLog(store, container, await store.logSince(container, moment))
          const isWanted = ({ ts }: { ts: number }) => ts >= moment
          assert.deepEqual(entries.filter(isWanted), all.filter(isWanted))
        }
      }))

    test('P13: forgets entries beyond its retention at once, and says so', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 60)
        const from = await store.logNow(container)
        await store.write(container, put('create', keyOf('a'), { content: { n: 1 } }))
        const between = await store.logNow(container)
        clock.advance(30)
        await store.write(container, put('create', keyOf('b'), { content: { n: 2 } }))
        clock.advance(29)
        assert.equal((await readLog(store, container, from)).entries.length, 2)
        clock.advance(1)
        const page = { itemsMax: 10, bytesMax: 1000 }
        for (const isSwept of [false, true]) {
          if (isSwept) await store.sweep(container, 100)
          assert.equal((await store.log(container, { within: everything, after: from }, page)).isForgotten, true)
          assert.equal((await readLog(store, container, between)).entries.length, 1)
        }
      }))

    test('a log is trimmed by sweeps although nobody dies, and the census tells when it is due', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 60)
        const earliest = async () => (await store.census(container)).earliestLogged
        assert.equal(await earliest(), null)
        for (let at = 0; at < 25; at++) await store.write(container, put('create', keyOf(`a${at}`)))
        clock.advance(30)
        const between = await store.logNow(container)
        await store.write(container, put('create', keyOf('b')))
        clock.advance(29)
        assert.deepEqual(await store.sweep(container, 10), { removed: 0, done: true })
        assert.equal(await earliest(), start)
        clock.advance(1)
        assert.deepEqual(await store.sweep(container, 10), { removed: 0, done: false })
        assert.equal(await earliest(), start)
        assert.equal((await readLog(store, container, between)).entries.length, 1)
        while (!(await store.sweep(container, 10)).done);
        assert.equal(await earliest(), start + 30)
        assert.equal((await readLog(store, container, between)).entries.length, 1)
        clock.advance(30)
        assert.deepEqual(await store.sweep(container, 10), { removed: 0, done: true })
        assert.equal(await earliest(), null)
        assert.equal((await store.census(container)).rows, 26)
      }))

    test('a log that is switched off is removed, and a later log knows nothing of it', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 600)
        const from = await store.logNow(container)
        for (let at = 0; at < 25; at++) await store.write(container, put('create', keyOf(`a${at}`)))
        await store.updateContainer(container, () => ({ logSeconds: null }))
        clock.advance(1)
        assert.deepEqual(await store.sweep(container, 10), { removed: 0, done: false })
        assert.equal((await store.census(container)).earliestLogged, start)
        while (!(await store.sweep(container, 10)).done);
        assert.equal((await store.census(container)).earliestLogged, null)
        await store.updateContainer(container, () => ({ logSeconds: 600 }))
        const again = await store.logNow(container)
        await store.write(container, put('create', keyOf('b')))
        const page = { itemsMax: 10, bytesMax: 1000 }
        assert.equal((await store.log(container, { within: everything, after: from }, page)).isForgotten, true)
        assert.equal((await readLog(store, container, again)).entries.length, 1)
      }))

    test('P13: forgetting entries of one partition key keeps those of the others', () =>
      within(async (store, clock) => {
        const container = await loggedContainer(store, 60, -1)
        const keys = (name: string) => Array.from({ length: 12 }, (_, at) => keyOf('a', `${name} ${at}`))
        for (const key of keys('old')) {
          for (let value = 0; value < 8; value++) await store.write(container, put('upsert', key))
        }
        clock.advance(100)
        const from = await store.logNow(container)
        for (const key of keys('new')) await store.write(container, put('create', key, { ttl: 5 }))
        clock.advance(5)
        while (!(await store.sweep(container, 100)).done);
        const { entries } = await readLog(store, container, from)
        const seen = entries.map(({ kind, key }) => `${key.pk} ${kind}`).sort()
        assert.deepEqual(
          seen,
          keys('new')
            .flatMap(({ pk }) => [`${pk} create`, `${pk} expire`])
            .sort(),
        )
      }))

    test('P13: contains nothing of a refused transaction, and all of a committed one', () =>
      within(async store => {
        const container = await loggedContainer(store, 60)
        const from = await store.logNow(container)
        const create = (id: string) => ({ container, key: keyOf(id), decide: () => put('create', keyOf(id)) })
        await store.transact([create('a'), create('b'), create('a')])
        assert.deepEqual((await readLog(store, container, from)).entries, [])
        await store.transact([create('a'), create('b')])
        assert.equal((await readLog(store, container, from)).entries.length, 2)
      }))

    test('P13: any history of writes, deaths and sweeps can be replayed from it', async () => {
      const operation = fc.oneof(
        fc.record({
          kind: fc.constantFrom('create', 'replace', 'upsert', 'delete'),
          id: fc.constantFrom('a', 'b', 'c'),
          ttl: fc.constantFrom(-1, 1, 3),
        }),
        fc.constant('tick'),
        fc.constant('sweep'),
      )
      const runs = name === 'PostgreSQL' ? 3 : 40
      await fc.assert(
        fc.asyncProperty(fc.array(operation, { maxLength: 30 }), history =>
          within(async (store, clock) => {
            const container = await loggedContainer(store, 10_000, -1)
            const from = await store.logNow(container)
            let count = 0
            for (const each of history) {
              if (each === 'tick') clock.advance(1)
              else if (each === 'sweep') await store.sweep(container, 100)
              else if (each.kind === 'delete') await store.write(container, { kind: 'delete', key: keyOf(each.id) })
              else
                await store.write(
                  container,
                  put(each.kind as 'create', keyOf(each.id), { content: { n: ++count }, ttl: each.ttl }),
                )
            }
            clock.advance(1)
            await store.sweep(container, 100)
            const replayed = new Map<string, unknown>()
            for (const { kind, key, body, previous } of (await readLog(store, container, from)).entries) {
              assert.equal(
                previous === undefined ? undefined : n(previous),
                replayed.get(key.id),
                `${kind} of ${key.id}`,
              )
              assert.equal(replayed.has(key.id), kind !== 'create')
              if (body === undefined) replayed.delete(key.id)
              else replayed.set(key.id, n({ body }))
            }
            const { items } = await store.scan(container, everything, { itemsMax: 100, bytesMax: 1 << 20 })
            assert.deepEqual([...replayed].sort(), items.map(item => [item.key.id, n(item)]).sort())
          }),
        ),
        { numRuns: runs },
      )
    })
  })
}
