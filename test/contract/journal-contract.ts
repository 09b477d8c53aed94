/** The promises about the journal, as a suite that each adapter runs: one order over all logs, with notes. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import type { ContainerRecord, Epitaph } from '../../src/store/catalog.ts'
import type { Store } from '../../src/store/port.ts'
import type { JournalEntry } from '../../src/store/reading.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { keyOf, type Opener } from './store-contract.ts'

const start = toEpochSeconds(1_000_000)
const keptSeconds = 100

const bytes = (words: string) => Buffer.from(words)
const text = (body: string | Uint8Array) => Buffer.from(body as Uint8Array).toString()
const epitaph = (words: string): Epitaph => ({ body: bytes(words), endsName: true, keptSeconds })

/** What an entry says: a note's text, or the kind, the key and the name of the container at that time. */
function said(entry: JournalEntry): string {
  const { container, ending } = entry
  if (entry.kind === 'note') return text(entry.note)
  return `${entry.change.kind} ${entry.change.key.id} in ${ending === undefined ? container?.id : `(${text(ending)})`}`
}

async function readOn(store: Store, after: number, itemsMax = 3) {
  const entries: JournalEntry[] = []
  let reached = after
  for (;;) {
    const page = await store.journal(reached, { itemsMax, bytesMax: 1 << 20 })
    entries.push(...page.entries)
    reached = page.reached.tick
    if (page.isEnd) return { entries, said: entries.map(said), reached }
  }
}

export function journalContract(name: string, prepare: () => Promise<Opener>): void {
  async function within(work: (store: Store, clock: ManualClock) => Promise<void>): Promise<void> {
    const opener = await prepare()
    const clock = new ManualClock(start)
    const store = await opener.open(clock)
    await work(store, clock)
    await store[Symbol.asyncDispose]()
    await opener[Symbol.asyncDispose]()
  }

  async function container(store: Store, id: string, defaultTtl: number | null = null): Promise<ContainerRecord> {
    const database =
      (await store.findDatabase('d')) ?? (await store.createDatabase({ id: 'd', rid: 7, throughput: null }))!
    const made = await store.createContainer(database, {
      id,
      rid: 8,
      throughput: null,
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      partitionCount: 1,
      encoding: 'bson',
      policy: newPolicy(defaultTtl),
      logSeconds: keptSeconds,
      definition: {},
      note: { body: bytes(`created ${id}`) },
    })
    return made!
  }

  const create = (store: Store, where: ContainerRecord, id: string, pk = 'p') =>
    store.write(where, { kind: 'create', key: keyOf(id, pk), draft: bytes(id), ttl: undefined })

  describe(`the journal over ${name}`, () => {
    test('P14: has the changes of all containers, their deaths, and the notes between, in one order', () =>
      within(async (store, clock) => {
        const [a, b] = [await container(store, 'a', 10), await container(store, 'b')]
        await create(store, a, '1')
        await create(store, b, '2')
        await store.updateContainer(a, () => ({ notes: [{ body: bytes('changed a') }] }))
        await create(store, a, '3')
        await store.write(b, { kind: 'delete', key: keyOf('2') })
        clock.advance(10)
        await store.sweep(a, 10)
        const all = await readOn(store, 0)
        assert.deepEqual(all.said.slice(0, 7), [
          'created a',
          'created b',
          'create 1 in a',
          'create 2 in b',
          'changed a',
          'create 3 in a',
          'delete 2 in b',
        ])
        assert.deepEqual(all.said.slice(7).sort(), ['expire 1 in a', 'expire 3 in a'])
        for (const [at, { tick }] of all.entries.entries()) {
          assert.deepEqual((await readOn(store, tick, 2)).said, all.said.slice(at + 1))
        }
        const since = await store.journalSince(toEpochSeconds(start + 1))
        assert.deepEqual((await readOn(store, since)).said, all.said.slice(7))
        assert.deepEqual((await readOn(store, await store.journalSince(start))).said, all.said)
        const now = await store.journalNow()
        assert.equal(now.ts, start + 10)
        assert.deepEqual((await readOn(store, now.tick)).said, [])
        assert.equal(store.journalTick(), now.tick)
      }))

    test('P14: entries keep the name that their container had, renamed or deleted, until they are forgotten', () =>
      within(async (store, clock) => {
        const a = await container(store, 'a')
        await create(store, a, '1')
        const renamed = (await store.updateContainer(a, () => ({
          id: 'z',
          notes: [{ body: bytes('a became z'), endsName: true }],
        })))!
        await create(store, renamed, '2')
        await store.deleteContainer(renamed, epitaph('dropped z'))
        await store.deleteDatabase(renamed.database, { ...epitaph('dropped d'), endsName: false })
        const expected = ['created a', 'create 1 in (a became z)', 'a became z', 'create 2 in (dropped z)', 'dropped z']
        assert.deepEqual((await readOn(store, 0)).said, [...expected, 'dropped d'])
        while (await store.reclaim(10)) clock.advance(0)
        assert.deepEqual((await readOn(store, 0)).said, [...expected, 'dropped d'])
        clock.advance(keptSeconds)
        while (await store.reclaim(10)) clock.advance(0)
        assert.deepEqual((await readOn(store, 0)).said, [])
      }))

    test('P14: leaves nothing of a container that is deleted without an epitaph, and of a refused change', () =>
      within(async store => {
        const [a, b] = [await container(store, 'a'), await container(store, 'b')]
        await create(store, a, '1')
        const taken = await store.updateContainer(a, () => ({
          id: 'b',
          notes: [{ body: bytes('no'), endsName: true }],
        }))
        assert.equal(taken, undefined)
        await store.deleteContainer(a)
        while (await store.reclaim(10)) await create(store, b, '2')
        assert.deepEqual(new Set((await readOn(store, 0)).said), new Set(['created b', 'create 2 in b']))
      }))

    test('P14: readers that read on while others write see the same order, without gaps', () =>
      within(async store => {
        const containers = [await container(store, 'a'), await container(store, 'b'), await container(store, 'c')]
        let isWriting = true
        const writing = Promise.all(
          containers.flatMap((each, at) =>
            ['p', 'q', 'r'].map(async pk => {
              for (let n = 0; n < 30; n++) await create(store, each, `${at}${pk}${n}`, pk)
            }),
          ),
        ).finally(() => {
          isWriting = false
        })
        const read = async (itemsMax: number) => {
          const seen: string[] = []
          let reached = 0
          for (;;) {
            const wasWriting = isWriting
            const page = await readOn(store, reached, itemsMax)
            seen.push(...page.said)
            reached = page.reached
            if (!wasWriting) return seen
            await store.awaitJournal(reached, { ms: 5 })
          }
        }
        const [first, second] = await Promise.all([read(1), read(50), writing])
        assert.deepEqual(first, second)
        assert.deepEqual(first, (await readOn(store, 0, 1000)).said)
        assert.equal(first.length, 3 + 9 * 30)
        const ofOne = first.filter(words => words.startsWith('create 1q'))
        assert.deepEqual(
          ofOne,
          Array.from({ length: 30 }, (_, n) => `create 1q${n} in b`),
        )
      }))

    test('who waits is woken by an entry, and by nothing else', () =>
      within(async store => {
        const a = await container(store, 'a')
        const { reached } = await readOn(store, 0)
        assert.equal(await store.awaitJournal(reached, { ms: 20 }), false)
        assert.equal(await store.awaitJournal(reached, { ms: 60_000, onBegin: end => end() }), false)
        const waiting = Array.from({ length: 50 }, () => store.awaitJournal(reached, { ms: 60_000 }))
        await create(store, a, '1')
        assert.deepEqual(new Set(await Promise.all(waiting)), new Set([true]))
        assert.deepEqual((await readOn(store, reached)).said, ['create 1 in a'])
      }))
  })
}
