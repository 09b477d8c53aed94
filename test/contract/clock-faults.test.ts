/**
 * Stores whose machine shows a wrong time: what is removed, what is shown, and what becomes of what was
 * written meanwhile. Examples, and random histories against a small model, over both adapters.
 */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { type EpochSeconds, type StoredTime, SystemClock } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import { migrateData } from '../../src/server/migrate.ts'
import type { ContainerRecord, IndexDraft } from '../../src/store/catalog.ts'
import type { ItemKey, StampGap } from '../../src/store/item.ts'
import type { TtlPolicy } from '../../src/store/policy.ts'
import type { Store } from '../../src/store/port.ts'
import type { ItemWrite } from '../../src/store/writing.ts'
import { changeDefault, newPolicy } from '../../src/ttl/lifespan.ts'
import { isAlive, livingAt } from '../../src/ttl/living.ts'
import { startPostgres } from '../support/postgres.ts'
import { fc } from '../support/property.ts'
import { TestTime } from '../support/time-source.ts'
import { keyOf } from './store-contract.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const begin = 1_000_000_000
const day = 86_400
const year = 365 * day
const bound = 300
const fail = (error: Error) => {
  throw error
}

interface Place extends AsyncDisposable {
  open(time: TestTime): Promise<Store>
}

const makeClock = (time: TestTime) => (stored: StoredTime) => new SystemClock(stored, { source: time })

async function onDisk(): Promise<Place> {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-clock-'))
  return {
    open: async time => withContract(openSqlite({ directory, clock: makeClock(time), onFatal: fail })),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true }),
  }
}

async function inPostgres(): Promise<Place> {
  const url = await server.createDatabase()
  return {
    open: async time => withContract(await openPostgres({ url, clock: makeClock(time), onFatal: fail })),
    [Symbol.asyncDispose]: () => server.dropDatabase(url),
  }
}

const ts: StampGap = { name: 'ts', print: String, form: { before: '', number: 'decimal' } }

function put(
  kind: 'create' | 'replace' | 'upsert',
  key: ItemKey,
  { ttl, until, content = {} }: { ttl?: number | undefined; until?: number; content?: object } = {},
): ItemWrite {
  const text = JSON.stringify({ id: key.id, ...content })
  const draft = { texts: [`${text.slice(0, -1)},"_ts":`, '}'], stamps: [ts] }
  return { kind, key, ttl, draft, ...(until !== undefined && { until: until as EpochSeconds }) }
}

async function makeContainer(
  store: Store,
  defaultTtl: number | null,
  { logSeconds = null, declaredIndexes = [] }: { logSeconds?: number | null; declaredIndexes?: IndexDraft[] } = {},
): Promise<ContainerRecord> {
  const database = await store.createDatabase({ id: 'd', rid: 7, throughput: null })
  const made = await store.createContainer(database!, {
    id: 'c',
    rid: 8,
    throughput: null,
    partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
    partitionCount: 1,
    encoding: 'json',
    policy: newPolicy(defaultTtl),
    logSeconds,
    definition: {},
    declaredIndexes,
  })
  return made!
}

const everything = { min: '', maxExclusive: 'FF' }
const whole = { itemsMax: 10_000, bytesMax: 1 << 26 }

async function idsOf(store: Store, container: ContainerRecord): Promise<string[]> {
  return (await store.scan(container, everything, whole)).items.map(({ key }) => key.id).sort()
}

async function sweepAll(store: Store, container: ContainerRecord): Promise<number> {
  let removed = 0
  for (;;) {
    const swept = await store.sweep(container, 100)
    removed += swept.removed
    if (swept.done) return removed
  }
}

async function restampAll(store: Store, hasFixedDeadlines = () => false): Promise<void> {
  while (await store.restamp(10, hasFixedDeadlines)) {}
}

async function setDefault(store: Store, container: ContainerRecord, ttl: number | null): Promise<ContainerRecord> {
  const changed = await store.updateContainer(container, ({ policy }, _moment, sure) => ({
    policy: changeDefault(policy, ttl, sure),
  }))
  return changed!
}

for (const [name, place] of [
  ['SQLite', onDisk],
  ['PostgreSQL', inPostgres],
] as const) {
  describe(`a wrong clock over ${name}`, () => {
    async function within(
      defaultTtl: number | null,
      work: (world: { store: Store; time: TestTime; container: ContainerRecord; at: Place }) => Promise<void>,
      options: Parameters<typeof makeContainer>[2] = {},
    ): Promise<void> {
      await using at = await place()
      const time = new TestTime(begin)
      const store = await at.open(time)
      try {
        await work({ store, time, at, container: await makeContainer(store, defaultTtl, options) })
      } finally {
        await store[Symbol.asyncDispose]()
      }
    }

    test('ten years ahead for five seconds: reads follow and come back, nothing is removed', () =>
      within(30 * day, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a')))
        await store.write(container, put('create', keyOf('own'), { ttl: 60 }))
        time.step(10 * year)
        assert.deepEqual(await idsOf(store, container), [])
        time.pass(5)
        assert.equal(await sweepAll(store, container), 0)
        assert.deepEqual(await store.time(), {
          moment: begin + 10 * year + 5,
          sure: begin + 5,
          doubt: { kind: 'step', since: begin + 10 * year },
        })
        time.step(-10 * year)
        assert.deepEqual(await idsOf(store, container), ['a', 'own'])
        assert.deepEqual(await store.time(), { moment: begin + 5, sure: begin + 5, doubt: undefined })
        time.pass(55)
        assert.deepEqual(await idsOf(store, container), ['a'])
        assert.equal(await sweepAll(store, container), 1)
      }))

    test('ahead for good: what is dead by sure time is removed, the rest when somebody trusts the time', () =>
      within(-1, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('short'), { ttl: 60 }))
        await store.write(container, put('create', keyOf('long'), { ttl: day }))
        time.step(year)
        assert.deepEqual(await idsOf(store, container), [])
        assert.equal(await sweepAll(store, container), 0)
        time.pass(60)
        assert.equal(await sweepAll(store, container), 1, 'this time has really passed')
        await store.trustTime()
        assert.equal((await store.time()).doubt, undefined)
        assert.equal(await sweepAll(store, container), 1)
        assert.deepEqual(await idsOf(store, container), [])
        time.step(-year)
        assert.equal(await store.moment(), begin + year + 60, 'what was trusted does not go back')
      }))

    test('back a part of the way: the time stays in doubt, and what is trusted later is the present time', () =>
      within(30 * day, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a')))
        time.step(10 * year)
        await store.moment()
        time.step(day - 10 * year)
        assert.deepEqual(await idsOf(store, container), ['a'])
        const { moment, sure, doubt } = await store.time()
        assert.deepEqual([moment, sure, doubt?.kind], [begin + day, begin, 'step'])
        await store.trustTime()
        assert.equal(await sweepAll(store, container), 0)
        assert.deepEqual(await store.time(), { moment: begin + day, sure: begin + day, doubt: undefined })
      }))

    test('set back: nothing revives, and time goes on', () =>
      within(60, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a')))
        time.pass(60)
        assert.deepEqual(await idsOf(store, container), [])
        time.step(-year)
        assert.deepEqual(await idsOf(store, container), [])
        time.pass(1)
        assert.equal(await store.moment(), begin + 61)
        assert.equal(await sweepAll(store, container), 1)
      }))

    test('a machine that slept for a day: what died is removed at once', () =>
      within(3600, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a')))
        time.sleep(day)
        assert.deepEqual(await idsOf(store, container), [])
        assert.equal(await sweepAll(store, container), 1)
      }))

    test('a restart in doubt changes nothing, and a clock that came back meanwhile is followed', async () => {
      await using at = await place()
      const time = new TestTime(begin)
      const first = await at.open(time)
      const container = await makeContainer(first, 30 * day)
      await first.write(container, put('create', keyOf('a')))
      time.step(10 * year)
      assert.deepEqual(await idsOf(first, container), [])
      await first[Symbol.asyncDispose]()

      time.pass(100)
      const second = await at.open(time)
      assert.deepEqual(await idsOf(second, container), [])
      assert.equal(await sweepAll(second, container), 0)
      const { moment, sure, doubt } = await second.time()
      assert.deepEqual([moment, sure, doubt?.kind], [begin + 10 * year + 100, begin, 'step'])
      await second[Symbol.asyncDispose]()

      time.step(-10 * year)
      const third = await at.open(time)
      assert.deepEqual(await idsOf(third, container), ['a'])
      assert.deepEqual(await third.time(), { moment: begin + 100, sure: begin + 100, doubt: undefined })
      await third[Symbol.asyncDispose]()
    })

    test('a changed default does not make a wrong time final', () =>
      within(30 * day, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a')))
        await store.write(container, put('create', keyOf('own'), { ttl: 30 * day }))
        time.step(10 * year)
        await store.moment()
        const changed = await setDefault(store, container, 20 * day)
        time.step(-10 * year)
        assert.deepEqual(await idsOf(store, changed), ['a', 'own'])
        time.pass(20 * day)
        assert.deepEqual(await idsOf(store, changed), ['own'])
      }))

    test('items that were written in a wrong time get new stamps, and keep versions and index entries', async () => {
      const byTs: IndexDraft = { components: [{ path: ['_ts'], isDescending: false }], isDeclared: true }
      await within(
        3600,
        async ({ store, time, container }) => {
          await store.write(container, put('create', keyOf('before')))
          time.step(10 * year)
          await store.write(container, put('create', keyOf('inherits')))
          await store.write(container, put('create', keyOf('own'), { ttl: 100 }))
          await store.write(container, put('create', keyOf('never'), { ttl: -1 }))
          const { item: before } = await store.read(container, keyOf('own'))
          time.pass(10)
          time.step(-10 * year)
          await restampAll(store)
          const { item: own } = await store.read(container, keyOf('own'))
          assert.deepEqual([own?.ts, own?.deadline, own?.version], [begin, begin + 100, before!.version])
          assert.deepEqual(JSON.parse(textOf(own!.body)), { id: 'own', _ts: begin })
          const index = container.indexes[0]!.definition.number
          const scanned = await store.scanIndex(
            container,
            {
              index,
              keys: [{ low: Buffer.alloc(0), high: Buffer.alloc(9, 255) }],
              isReverse: false,
              within: everything,
            },
            whole,
          )
          const keys = new Set(scanned.items.map(({ indexKey }) => Buffer.from(indexKey).toString('hex')))
          assert.deepEqual([scanned.items.length, keys.size], [4, 1], 'all have the same second')
          time.pass(90)
          assert.deepEqual(await idsOf(store, container), ['before', 'inherits', 'never'])
          time.pass(3500)
          assert.deepEqual(await idsOf(store, container), ['never'])
          assert.equal(await sweepAll(store, container), 3)
        },
        { declaredIndexes: [byTs] },
      )
    })

    test('deadlines that do not count from the write stay', () =>
      within(-1, async ({ store, time, container }) => {
        time.step(year)
        await store.write(container, put('create', keyOf('a'), { until: begin + 2 * year }))
        time.step(-year)
        await store.moment()
        await restampAll(store, () => true)
        const { item } = await store.read(container, keyOf('a'))
        assert.deepEqual([item?.ts, item?.deadline], [begin, begin + 2 * year])
      }))

    test('entries of a log are stamped again, and are forgotten in time', () =>
      within(
        null,
        async ({ store, time, container }) => {
          time.step(year)
          await store.write(container, put('create', keyOf('a')))
          time.step(-year)
          await store.moment()
          await restampAll(store)
          const from = { within: everything, after: '0' as never }
          const [entry] = (await store.log(container, from, whole)).entries
          assert.equal(entry?.ts, begin)
          assert.deepEqual(JSON.parse(textOf(entry.body!)), { id: 'a', _ts: begin })
          time.pass(100)
          await sweepAll(store, container)
          assert.equal((await store.census(container)).earliestLogged, null)
        },
        { logSeconds: 100 },
      ))

    test('what is created over an item that is dead only by a doubted time takes its place for good', () =>
      within(30 * day, async ({ store, time, container }) => {
        await store.write(container, put('create', keyOf('a'), { content: { n: 1 } }))
        time.step(10 * year)
        const { outcome } = await store.write(container, put('create', keyOf('a'), { content: { n: 2 } }))
        assert.equal(outcome, 'created')
        time.step(-10 * year)
        await store.moment()
        await restampAll(store)
        const { item } = await store.read(container, keyOf('a'))
        assert.deepEqual(JSON.parse(textOf(item!.body)), { id: 'a', n: 2, _ts: begin })
        assert.equal((await store.census(container)).rows, 1)
      }))

    for (const uniqueness of ['partition', 'container'] as const) {
      test(`the key of an item that is dead only by a doubted time can be taken, once (${uniqueness})`, async () => {
        const unique: IndexDraft = {
          components: [{ path: ['k'], isDescending: false }],
          uniqueness,
          isDeclared: true,
        }
        const other = uniqueness === 'container' ? 'q' : 'p'
        await within(
          30 * day,
          async ({ store, time, container }) => {
            await store.write(container, put('create', keyOf('old'), { content: { k: 1 } }))
            await store.write(container, put('create', keyOf('bystander'), { content: { k: 2 } }))
            time.step(10 * year)
            const taken = put('create', keyOf('new', other), { content: { k: 1 } })
            assert.equal((await store.write(container, taken)).outcome, 'created')
            const second = put('create', keyOf('newer', other), { content: { k: 1 } })
            assert.equal((await store.write(container, second)).outcome, 'conflict')
            time.step(-10 * year)
            assert.deepEqual(await idsOf(store, container), ['bystander', 'new'], 'two living items share no key')
            await restampAll(store)
            const third = put('create', keyOf('bystander-2'), { content: { k: 2 } })
            assert.equal((await store.write(container, third)).outcome, 'conflict')
            assert.equal(await sweepAll(store, container), 1)
            const index = container.indexes[0]!.definition.number
            const keys = [{ low: Buffer.alloc(0), high: Buffer.alloc(40, 255) }]
            assert.equal(await store.countEntries(container, { index, keys }), 2, 'the entries of the old one are gone')
            // Turning expiry off does not revive it either.
            const off = await setDefault(store, container, null)
            assert.deepEqual(await idsOf(store, off), ['bystander', 'new'])
          },
          { declaredIndexes: [unique] },
        )
      })
    }
  })

  test(`random faults over ${name}: nothing is removed too early, no dead item is shown, nothing is lost`, async () => {
    const seconds = fc.oneof(
      fc.integer({ min: 1, max: 400 }),
      fc.integer({ min: 1, max: 30 * day }),
      fc.integer({ min: 1, max: 10 * year }),
    )
    const operation = fc.oneof(
      { weight: 3, arbitrary: fc.record({ op: fc.constant('pass' as const), by: fc.integer({ min: 1, max: 2000 }) }) },
      {
        weight: 1,
        arbitrary: fc.record({ op: fc.constant('pass' as const), by: fc.integer({ min: 1, max: 5 * day }) }),
      },
      { weight: 2, arbitrary: fc.record({ op: fc.constant('forward' as const), by: seconds }) },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('back' as const), by: seconds }) },
      { weight: 2, arbitrary: fc.record({ op: fc.constant('right' as const) }) },
      {
        weight: 1,
        arbitrary: fc.record({ op: fc.constant('sleep' as const), by: fc.integer({ min: 10, max: 5 * day }) }),
      },
      {
        weight: 1,
        arbitrary: fc.record({ op: fc.constant('restart' as const), by: fc.integer({ min: 0, max: 10 * day }) }),
      },
      { weight: 1, arbitrary: fc.record({ op: fc.constant('trust' as const) }) },
      { weight: 4, arbitrary: fc.record({ op: fc.constant('sweep' as const) }) },
      {
        weight: 6,
        arbitrary: fc.record({
          op: fc.constant('write' as const),
          id: fc.constantFrom('a', 'b', 'c', 'd', 'e'),
          kind: fc.constantFrom('create' as const, 'upsert' as const),
          ttl: fc.option(fc.constantFrom(-1, 5, 1000, day, 30 * day), { nil: undefined }),
        }),
      },
      {
        weight: 1,
        arbitrary: fc.record({
          op: fc.constant('default' as const),
          ttl: fc.constantFrom(null, -1, 100, day, 40 * day),
        }),
      },
    )
    type Operation = typeof operation extends fc.Arbitrary<infer T> ? T : never

    const run = async (operations: readonly Operation[]): Promise<void> => {
      await using at = await place()
      const time = new TestTime(begin)
      /** What a right clock shows. */
      let rightS = begin
      /** Time that has passed, or that somebody trusted: nothing later may decide about a removal. */
      let passedS = begin
      /** How long the server has run since its start. */
      let upS = 0
      let mayTrustItself = false
      let store = await at.open(time)
      let container = await makeContainer(store, 30 * day)
      let policy: TtlPolicy = container.policy
      const model = new Map<string, { ts: number; deadline: number | null; writtenS: number }>()

      const go = (by: number) => {
        rightS += by
        passedS += by
        upS += by
      }
      for (const operation of operations) {
        switch (operation.op) {
          case 'pass':
            time.pass(operation.by)
            go(operation.by)
            break
          case 'sleep':
            await store.moment()
            time.sleep(operation.by)
            go(operation.by)
            break
          case 'forward':
            time.step(operation.by)
            break
          case 'back':
            time.step(-operation.by)
            break
          case 'right':
            time.wallMs = rightS * 1000
            break
          case 'restart':
            await store[Symbol.asyncDispose]()
            time.step(operation.by)
            rightS += operation.by
            store = await at.open(time)
            upS = 0
            mayTrustItself = true
            break
          case 'trust':
            await store.trustTime()
            passedS = Math.max(passedS, await store.moment())
            break
          case 'default':
            container = await setDefault(store, container, operation.ttl)
            policy = container.policy
            break
          case 'write': {
            const key = keyOf(operation.id)
            const answer = await store.write(container, put(operation.kind, key, { ttl: operation.ttl }))
            const present = model.get(operation.id)
            const lives = present !== undefined && isAlive(livingAt(policy, answer.moment), present)
            const expected = !lives ? 'created' : operation.kind === 'create' ? 'exists' : 'replaced'
            assert.equal(answer.outcome, expected)
            if (answer.item)
              model.set(operation.id, { ts: answer.item.ts, deadline: answer.item.deadline, writtenS: rightS })
            break
          }
          case 'sweep':
            await sweepAll(store, container)
        }
        const { moment, sure, doubt } = await store.time()
        // A wall clock that is a little ahead is believed, and a gap at the start after a while.
        const isBelieved = moment <= passedS + bound || (mayTrustItself && upS >= bound && doubt === undefined)
        if (doubt === undefined && isBelieved) passedS = Math.max(passedS, moment)
        assert.ok(sure <= passedS, `sure of ${sure}, but only ${passedS} can be known`)
        assert.ok(sure <= moment)
        await restampAll(store)
        const surelyLiving = livingAt(policy, passedS as EpochSeconds)
        const shown = await idsOf(store, container)
        for (const [id, item] of model) {
          const row = await store.inspect(container, keyOf(id))
          if (row === undefined) {
            assert.ok(!isAlive(surelyLiving, item), `${id} was removed, and is not dead by what is known`)
            model.delete(id)
            continue
          }
          if (row.ts !== item.ts) {
            assert.ok(item.ts > moment, 'only stamps in the future are changed')
            assert.ok(row.ts <= moment, 'to one that is not')
            const life = (each: { ts: number; deadline: number | null }) =>
              each.deadline === null || each.deadline === Number.MAX_SAFE_INTEGER
                ? each.deadline
                : each.deadline - each.ts
            assert.equal(life(row), life(item), 'and the life stays as long as it was')
            Object.assign(item, { ts: row.ts, deadline: row.deadline })
          }
          assert.equal(shown.includes(id), isAlive(livingAt(policy, moment), item), `${id} at ${moment}`)
        }
        assert.ok(shown.every(id => model.has(id)))
      }
      await store[Symbol.asyncDispose]()
    }

    await fc.assert(
      fc.asyncProperty(fc.array(operation, { minLength: 1, maxLength: 40 }), run),
      name === 'SQLite' ? { numRuns: 150 } : { numRuns: 12 },
    )
  })
}

test('data whose time is in doubt is not copied', async () => {
  const [from, to] = [await mkdtemp(join(tmpdir(), 'mayfly-from-')), await mkdtemp(join(tmpdir(), 'mayfly-to-'))]
  const time = new TestTime(begin)
  const open = () => openSqlite({ directory: from, clock: makeClock(time), onFatal: fail })
  const store = open()
  await makeContainer(store, 100)
  time.step(year)
  await store.moment()
  await store[Symbol.asyncDispose]()
  await assert.rejects(
    migrateData({ from, to }, () => {}),
    /time of this data is in doubt/,
  )
  const again = open()
  await again.trustTime()
  await again[Symbol.asyncDispose]()
  await migrateData({ from, to }, () => {})
  for (const directory of [from, to]) await rm(directory, { recursive: true })
})

describe('two gateways to one PostgreSQL, one with a wrong clock', () => {
  async function within(
    work: (world: {
      right: Store
      wrong: Store
      rightTime: TestTime
      wrongTime: TestTime
      container: ContainerRecord
    }) => Promise<void>,
  ): Promise<void> {
    await using at = await inPostgres()
    const [rightTime, wrongTime] = [new TestTime(begin), new TestTime(begin)]
    const right = await at.open(rightTime)
    const container = await makeContainer(right, 30 * day)
    await right.write(container, put('create', keyOf('a')))
    const wrong = await at.open(wrongTime)
    await wrong.moment()
    try {
      await work({ right, wrong, rightTime, wrongTime, container })
    } finally {
      await right[Symbol.asyncDispose]()
      await wrong[Symbol.asyncDispose]()
    }
  }

  test('the right one never shows the wrong time, and the wrong one is outvoted', () =>
    within(async ({ right, wrong, rightTime, wrongTime, container }) => {
      wrongTime.step(10 * year)
      assert.deepEqual(await idsOf(wrong, container), [], 'nobody has said otherwise yet')
      for (let second = 1; second <= 5; second++) {
        assert.deepEqual(await idsOf(right, container), ['a'])
        const { item } = await right.read(container, keyOf('a'))
        assert.equal(item?.ts, begin)
        assert.deepEqual(await idsOf(wrong, container), ['a'])
        assert.equal(await sweepAll(wrong, container), 0)
        rightTime.pass(1)
        wrongTime.pass(1)
        assert.equal(await right.moment(), begin + second)
        assert.equal(await wrong.moment(), begin + second)
      }
      assert.equal((await right.time()).doubt, undefined)
    }))

  test('the outvoted one goes on by its sure time when it is alone', () =>
    within(async ({ right, wrong, wrongTime, container }) => {
      wrongTime.step(10 * year)
      await wrong.moment()
      await right.moment()
      await wrong.moment()
      wrongTime.pass(100)
      assert.equal(await wrong.moment(), begin + 100)
      assert.deepEqual(await idsOf(wrong, container), ['a'])
      wrongTime.step(-10 * year)
      wrongTime.pass(5)
      assert.equal(await wrong.moment(), begin + 105)
      wrongTime.step(year)
      assert.equal(await wrong.moment(), begin + 105 + year, 'after it came back, it may doubt again')
    }))

  test('what the wrong one wrote is stamped again by the right one', () =>
    within(async ({ right, wrong, wrongTime, container }) => {
      wrongTime.step(10 * year)
      await wrong.write(container, put('create', keyOf('b'), { ttl: 60 }))
      await right.moment()
      await restampAll(right)
      const { item } = await right.read(container, keyOf('b'))
      assert.deepEqual([item?.ts, item?.deadline], [begin, begin + 60])
    }))

  test('a right step that both machines make is confirmed by the one that is sure of it', () =>
    within(async ({ right, wrong, rightTime, wrongTime, container }) => {
      // One machine slept and knows it. The other cannot tell why its clock jumped.
      wrongTime.step(60 * day)
      assert.equal((await wrong.time()).doubt?.kind, 'step')
      assert.equal(await sweepAll(wrong, container), 0)
      rightTime.sleep(60 * day)
      assert.equal((await right.time()).doubt, undefined)
      assert.equal(await sweepAll(wrong, container), 1)
      assert.equal((await wrong.time()).doubt, undefined)
    }))

  test('a wrong time of both is in doubt until one of them comes back', () =>
    within(async ({ right, wrong, rightTime, wrongTime, container }) => {
      wrongTime.step(10 * year)
      rightTime.step(10 * year)
      assert.deepEqual(await idsOf(wrong, container), [])
      assert.deepEqual(await idsOf(right, container), [])
      assert.equal(await sweepAll(right, container), 0)
      rightTime.step(-10 * year)
      assert.deepEqual(await idsOf(right, container), ['a'])
      assert.deepEqual(await idsOf(wrong, container), ['a'])
    }))

  test('trust at either gateway is trust for both', () =>
    within(async ({ right, wrong, rightTime, wrongTime, container }) => {
      wrongTime.step(60 * day)
      rightTime.step(60 * day)
      await wrong.moment()
      assert.equal((await right.time()).doubt?.kind, 'step')
      await right.trustTime()
      assert.equal((await wrong.time()).doubt, undefined)
      assert.equal(await sweepAll(wrong, container), 1)
      wrongTime.pass(1)
      assert.equal(await wrong.moment(), begin + 60 * day + 1)
      assert.equal((await wrong.time()).doubt, undefined)
    }))
})
