/** The promises of the storage port about transactions and unique keys, as a suite that each adapter runs. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { CapacityError, RequestError } from '../../src/base/error.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord, IndexDraft } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { ItemChange, Step } from '../../src/store/writing.ts'
import { newPolicy } from '../../src/ttl/lifespan.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer, type Opener } from './store-contract.ts'

const start = toEpochSeconds(1_000_000)

function step(container: ContainerRecord, key: ItemKey, change: ItemChange | undefined): Step {
  return { container, key, decide: () => change }
}

function contentOf(item: { readonly body: string | Uint8Array } | undefined) {
  return item === undefined ? undefined : JSON.parse(textOf(item.body)).n
}

async function unique(store: Store, paths: string[][], uniqueness: 'partition' | 'container' = 'partition') {
  const database = (await store.createDatabase({ id: 'u', rid: 17, throughput: null }))!
  const declaredIndexes: IndexDraft[] = paths.map(names => ({
    components: names.map(name => ({ path: [name], isDescending: false })),
    uniqueness,
    isDeclared: true,
  }))
  const container = await store.createContainer(database, {
    id: 'c',
    rid: 18,
    throughput: null,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    partitionCount: 1,
    encoding: 'json',
    policy: newPolicy(-1),
    logSeconds: null,
    definition: {},
    declaredIndexes,
  })
  return container!
}

export function transactionContract(name: string, prepare: () => Promise<Opener>): void {
  async function within(work: (store: Store, clock: ManualClock) => Promise<void>): Promise<void> {
    const opener = await prepare()
    const clock = new ManualClock(start)
    const store = await opener.open(clock)
    await work(store, clock)
    await store[Symbol.asyncDispose]()
    await opener[Symbol.asyncDispose]()
  }

  describe(`transactions over ${name}`, () => {
    test('writes and transactions keep the order of their calls, without waiting for each other', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        for (let round = 0; round < 10; round++) {
          // In many partitions, so that some are grouped and some are not, and some are already running when
          // the next one is called.
          const keys = Array.from({ length: 12 }, (_, n) => keyOf(`r${round}`, `p${n}`))
          const seen = keys.map(() => new Set<number>())
          const ask = async (key: ItemKey, n: number) => {
            const decide: Step['decide'] = found => {
              seen[n]!.add(contentOf(found))
              return put('upsert', key, { content: { n: contentOf(found) + 1 } })
            }
            const created = store.write(container, put('create', key, { content: { n: 1 } }))
            if (n % 2 === 0)
              for (let turn = 0; turn < round; turn++) await new Promise(resolve => setImmediate(resolve))
            const looked = store.transact([{ container, key, decide }])
            const replaced = store.write(container, put('replace', key, { content: { n: 3 } }))
            await Promise.all([created, looked, replaced, store.transact([{ container, key, decide }])])
          }
          await Promise.all(keys.map(ask))
          for (const each of seen) assert.deepEqual([...each], [1, 3])
          for (const key of keys) assert.equal(contentOf((await store.read(container, key)).item), 4)
        }
      }))

    test('P10: steps happen together, and each sees the effect of the earlier ones', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        await store.write(container, put('create', keyOf('a'), { content: { n: 1 } }))
        const seen: unknown[] = []
        const look = (id: string): Step => ({
          container,
          key: keyOf(id),
          decide: found => {
            seen.push(contentOf(found))
            return undefined
          },
        })
        const { steps, refusal } = await store.transact([
          look('a'),
          step(container, keyOf('a'), put('replace', keyOf('a'), { content: { n: 2 } })),
          look('a'),
          step(container, keyOf('a'), { kind: 'delete' }),
          look('a'),
          step(container, keyOf('a'), put('create', keyOf('a'), { content: { n: 3 } })),
          look('a'),
        ])
        assert.equal(refusal, undefined)
        assert.deepEqual(seen.slice(-4), [1, 2, undefined, 3])
        assert.deepEqual(
          steps.map(({ outcome }) => outcome),
          ['found', 'replaced', 'found', 'deleted', 'missing', 'created', 'found'],
        )
        assert.equal(contentOf((await store.read(container, keyOf('a'))).item), 3)
      }))

    test('P10: a step that fails rolls back all others, and later writes work as if nothing had happened', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        const before = await store.write(container, put('create', keyOf('a'), { content: { n: 1 } }))
        const writes = ['b', 'c'].map(id => step(container, keyOf(id), put('create', keyOf(id), { content: { n: 9 } })))
        const failures: [Step, string | undefined][] = [
          [step(container, keyOf('a'), put('create', keyOf('a'))), 'exists'],
          [step(container, keyOf('x'), put('replace', keyOf('x'))), 'missing'],
          [step(container, keyOf('x'), { kind: 'delete' }), 'missing'],
          [step(container, keyOf('a'), { kind: 'delete', ifVersion: before.version + 7 }), 'changed'],
          [
            {
              container,
              key: keyOf('a'),
              decide: () => {
                throw new RequestError('malformed', 'No.')
              },
            },
            undefined,
          ],
        ]
        for (const [failing, outcome] of failures) {
          const { steps, refusal } = await store.transact([writes[0]!, failing, writes[1]!])
          assert.equal(steps[0]!.outcome, 'created')
          assert.equal(steps[1]?.outcome, outcome)
          assert.equal(steps.length, outcome === undefined ? 1 : 2)
          assert.equal(refusal!.error?.message, outcome === undefined ? 'No.' : undefined)
          assert.deepEqual((await store.scan(container, { min: '', maxExclusive: 'FF' }, page)).items.length, 1)
          assert.equal((await store.census(container)).rows, 1)
        }
        const { steps } = await store.transact(writes)
        assert.deepEqual(
          steps.map(({ outcome }) => outcome),
          ['created', 'created'],
        )
        assert.equal((await store.census(container)).rows, 3)
      }))

    test('P6: an item that a refused transaction saw dead stays dead when the store is opened again', async () => {
      const opener = await prepare()
      const clock = new ManualClock(start)
      const store = await opener.open(clock)
      const container = await makeContainer(store, 100)
      await store.write(container, put('create', keyOf('a')))
      clock.advance(100)
      const { refusal, steps } = await store.transact([
        step(container, keyOf('b'), put('create', keyOf('b'))),
        step(container, keyOf('a'), { kind: 'delete' }),
      ])
      assert.ok(refusal !== undefined && steps[1]!.outcome === 'missing')
      await store[Symbol.asyncDispose]()
      if (opener.isLasting) {
        const again = await opener.open(new ManualClock(start))
        const reopened = (await again.findContainer('d', 'c'))!
        for (const id of ['a', 'b']) assert.equal((await again.read(reopened, keyOf(id))).item, undefined, id)
        await again[Symbol.asyncDispose]()
      }
      await opener[Symbol.asyncDispose]()
    })

    test('P10: a step that throws rolls back all others as well', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        const overload = new CapacityError('throttled', 'Later.', 1)
        const failing: Step = {
          container,
          key: keyOf('b'),
          decide: () => {
            throw overload
          },
        }
        const first = step(container, keyOf('a'), put('create', keyOf('a')))
        await assert.rejects(store.transact([first, failing]), overload)
        assert.equal((await store.read(container, keyOf('a'))).item, undefined)
        assert.equal((await store.census(container)).rows, 0)
      }))

    test('P10: a failing transaction does not affect the writes in the same commit', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        await store.write(container, put('create', keyOf('a')))
        const outcomes = await Promise.all([
          store.write(container, put('create', keyOf('b'))),
          store.transact([
            step(container, keyOf('c'), put('create', keyOf('c'))),
            step(container, keyOf('a'), put('create', keyOf('a'))),
          ]),
          store.write(container, put('create', keyOf('d'))),
        ])
        assert.equal(outcomes[1].steps[1]!.outcome, 'exists')
        const { items } = await store.scan(container, { min: '', maxExclusive: 'FF' }, page)
        assert.deepEqual(items.map(({ key }) => key.id).sort(), ['a', 'b', 'd'])
        const versions = items.map(({ version }) => version)
        assert.equal(new Set(versions).size, versions.length)
      }))

    test('P10: concurrent transactions that read and write the same item lose no update', () =>
      within(async store => {
        const container = await makeContainer(store, null)
        await store.write(container, put('create', keyOf('a'), { content: { n: 0 } }))
        const increment: Step = {
          container,
          key: keyOf('a'),
          decide: found => put('replace', keyOf('a'), { content: { n: contentOf(found) + 1 } }),
        }
        await Promise.all(Array.from({ length: 20 }, () => store.transact([increment])))
        assert.equal(contentOf((await store.read(container, keyOf('a'))).item), 20)
      }))

    test('P10: a step sees no dead item, and all steps have the same moment', () =>
      within(async (store, clock) => {
        const container = await makeContainer(store, 10)
        await store.write(container, put('create', keyOf('a'), { content: { n: 1 } }))
        clock.advance(10)
        const { steps, moment } = await store.transact([
          step(container, keyOf('a'), undefined),
          step(container, keyOf('a'), put('create', keyOf('a'), { content: { n: 2 } })),
        ])
        assert.deepEqual(
          steps.map(({ outcome }) => outcome),
          ['missing', 'created'],
        )
        assert.deepEqual([moment, steps[1]!.item!.ts], [start + 10, start + 10])
      }))

    test('P10: several containers change together or not at all', () =>
      within(async store => {
        const [one, two] = [await makeContainer(store, null, 'one'), await makeContainer(store, null, 'two')]
        const both = [one, two].map(container => step(container, keyOf('a'), put('create', keyOf('a'))))
        assert.equal((await store.transact(both)).refusal, undefined)
        const again = [one, two].map((container, at) => {
          const key = keyOf(at === 0 ? 'b' : 'a')
          return step(container, key, put('create', key))
        })
        assert.notEqual((await store.transact(again)).refusal, undefined)
        assert.equal((await store.read(one, keyOf('b'))).item, undefined)
      }))

    test('an item with a fixed end dies at that time, even if it is in the past or its ttl says otherwise', () =>
      within(async (store, clock) => {
        const container = await makeContainer(store, -1)
        const until = (seconds: number) => ({ until: toEpochSeconds(start + seconds) })
        await store.write(container, { ...put('create', keyOf('a')), ...until(5) } as never)
        await store.write(container, { ...put('create', keyOf('b'), { ttl: 3 }), ...until(5) } as never)
        const { outcome } = await store.write(container, { ...put('create', keyOf('c')), ...until(-5) } as never)
        assert.equal(outcome, 'created')
        const alive = async () =>
          (await store.scan(container, { min: '', maxExclusive: 'FF' }, page)).items.map(({ key }) => key.id)
        assert.deepEqual(await alive(), ['a', 'b'])
        clock.advance(3)
        assert.deepEqual(await alive(), ['a'])
        clock.advance(2)
        assert.deepEqual(await alive(), [])
      }))
  })

  describe(`unique keys over ${name}`, () => {
    test('P11: are unique within a partition key, each by itself, and a missing value counts as a value', () =>
      within(async store => {
        const container = await unique(store, [['a', 'b'], ['c']])
        const write = async (id: string, content: object, pk = 'p') =>
          (await store.write(container, put('upsert', keyOf(id, pk), { content }))).outcome
        assert.equal(await write('1', { a: 1, b: 1, c: 1 }), 'created')
        assert.equal(await write('2', { a: 1, b: 1, c: 2 }), 'conflict')
        assert.equal(await write('2', { a: 1, b: 2, c: 1 }), 'conflict')
        assert.equal(await write('2', { a: 1, b: 1, c: 1 }, 'q'), 'created')
        assert.equal(await write('2', { a: 1, b: 2, c: 2 }), 'created')
        assert.equal(await write('1', { a: 1, b: 1, c: 1, more: true }), 'replaced')
        assert.equal(await write('1', { a: 1, b: 2, c: 1 }), 'conflict')
        assert.equal(await write('3', {}), 'created')
        assert.equal(await write('4', { a: null, b: null, c: 4 }), 'conflict')
        const long = 'x'.repeat(5000)
        assert.equal(await write('5', { a: `${long}1`, c: 5 }), 'created')
        assert.equal(await write('6', { a: `${long}2`, c: 6 }), 'created')
        assert.equal(await write('7', { a: `${long}1`, c: 7 }), 'conflict')
      }))

    test('P11: are unique in the whole container if declared so', () =>
      within(async store => {
        const container = await unique(store, [['a']], 'container')
        assert.equal(
          (await store.write(container, put('create', keyOf('1'), { content: { a: 1 } }))).outcome,
          'created',
        )
        const other = put('create', keyOf('2', 'q'), { content: { a: 1 } })
        if (name === 'PostgreSQL') return // There a write cannot see items of other partition keys.
        assert.equal((await store.write(container, other)).outcome, 'conflict')
      }))

    test('P11: a key is free again when its holder dies, is deleted or changes, and not before', () =>
      within(async (store, clock) => {
        const container = await unique(store, [['a']])
        const create = async (id: string, a: number, ttl?: number) =>
          (await store.write(container, put('create', keyOf(id), { content: { a }, ...(ttl && { ttl }) }))).outcome
        assert.equal(await create('1', 1, 10), 'created')
        clock.advance(9)
        assert.equal(await create('2', 1), 'conflict')
        clock.advance(1)
        assert.equal(await create('2', 1), 'created')
        assert.equal(await create('3', 1), 'conflict')
        await store.write(container, put('replace', keyOf('2'), { content: { a: 2 } }))
        assert.equal(await create('3', 1), 'created')
        await store.write(container, { kind: 'delete', key: keyOf('3') })
        assert.equal(await create('4', 1), 'created')
        await store.sweep(container, 100)
        assert.equal(await create('5', 1), 'conflict', 'sweeping the first holder took nothing from the last')
      }))

    test('P11: of many concurrent writers one gets the key, and a transaction without it changes nothing', () =>
      within(async store => {
        const container = await unique(store, [['a']])
        const answers = await Promise.all(
          Array.from({ length: 12 }, (_, at) =>
            store.transact([
              step(container, keyOf(`free${at}`), put('create', keyOf(`free${at}`), { content: { a: `f${at}` } })),
              step(container, keyOf(`${at}`), put('create', keyOf(`${at}`), { content: { a: 1 } })),
            ]),
          ),
        )
        assert.equal(answers.filter(({ refusal }) => refusal === undefined).length, 1)
        assert.equal(answers.filter(({ steps }) => steps[1]!.outcome === 'conflict').length, 11)
        assert.equal((await store.census(container)).rows, 2)
      }))
  })
}

const page = { itemsMax: 1000, bytesMax: 1 << 24 }
