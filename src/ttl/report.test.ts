/** Tests of the reports on expiry, compared with what then happens in the container. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import {
  keyNamed,
  makeContainer,
  manualClock,
  openStore,
  put,
  putMany,
  setDefault,
  start,
} from '../../test/simulation/fixture.ts'
import { fc } from '../../test/support/property.ts'
import { timeText } from '../base/time-words.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import { explain, forecast, preview, ttlStatus } from './report.ts'
import type { Explanation } from './report-shapes.ts'

async function fresh(defaultTtl: number | null) {
  const clock = manualClock()
  const store = openStore(clock)
  return { clock, store, container: await makeContainer(store, defaultTtl) }
}

describe('the status', () => {
  test('of an empty container has only zeros', async () => {
    const { store, container } = await fresh(10)
    assert.deepEqual(await ttlStatus(store, container), {
      ...{ defaultTtl: 10, living: 0, backlog: 0, oldestDeadline: null, lagSeconds: 0 },
    })
  })

  test('counts living items and the backlog, and says how long the oldest has been dead', async () => {
    const { clock, store, container } = await fresh(100)
    await put(store, container, 'inherits')
    await put(store, container, 'own', 40)
    await put(store, container, 'never', -1)
    const rows: [number, number, number, number | null, number][] = [
      // Seconds, living, backlog, oldest deadline, lag.
      [39, 3, 0, null, 0],
      [40, 2, 1, 40, 0],
      [99, 2, 1, 40, 59],
      [100, 1, 2, 40, 60],
      [500, 1, 2, 40, 460],
    ]
    for (const [seconds, living, backlog, deadline, lagSeconds] of rows) {
      clock.set(start + seconds)
      const oldestDeadline = deadline === null ? null : start + deadline
      const expected = { defaultTtl: 100, living, backlog, oldestDeadline, lagSeconds }
      assert.deepEqual(await ttlStatus(store, container), expected, `after ${seconds} s`)
    }
    await store.sweep(container, 1)
    await store.sweep(container, 1)
    const { living, backlog, oldestDeadline } = await ttlStatus(store, container)
    assert.deepEqual({ living, backlog, oldestDeadline }, { living: 1, backlog: 0, oldestDeadline: null })
  })

  test('takes the earlier of an inherited and an own deadline', async () => {
    const { clock, store, container } = await fresh(10)
    await put(store, container, 'inherits')
    await put(store, container, 'own', 20)
    clock.advance(30)
    assert.equal((await ttlStatus(store, container)).oldestDeadline, start + 10)
  })

  test('still counts as backlog the items that died before expiry was turned off', async () => {
    const { clock, store, container } = await fresh(10)
    await put(store, container, 'inherits')
    await put(store, container, 'own', 5)
    clock.advance(50)
    const off = await setDefault(store, container, null)
    clock.advance(7)
    await put(store, off, 'new', 1)
    clock.advance(7)
    assert.deepEqual(await ttlStatus(store, off), {
      ...{ defaultTtl: null, living: 1, backlog: 2, oldestDeadline: start + 5, lagSeconds: 59 },
    })
  })

  test('knows when inheriting items died, also after their default has gone', async () => {
    const { clock, store, container } = await fresh(10)
    await put(store, container, 'inherits')
    clock.advance(50)
    const off = await setDefault(store, container, null)
    clock.advance(50)
    const { oldestDeadline, lagSeconds } = await ttlStatus(store, off)
    assert.deepEqual({ oldestDeadline, lagSeconds }, { oldestDeadline: start + 10, lagSeconds: 90 })
  })

  test('never names a deadline in the future', async () => {
    const { clock, store, container } = await fresh(10)
    await put(store, container, 'inherits')
    clock.advance(50)
    const longer = await setDefault(store, container, 100_000)
    const { backlog, oldestDeadline, lagSeconds } = await ttlStatus(store, longer)
    assert.equal(backlog, 1)
    assert.ok(oldestDeadline! <= start + 50 && lagSeconds >= 0)
  })
})

/** Items with a realistic history: written at different times, under defaults that changed. */
const events = fc.array(
  fc.oneof(
    {
      arbitrary: fc.record({ ttl: fc.constantFrom(undefined, undefined, -1, 1, 60, 3600, 86_400, 200_000) }),
      weight: 3,
    },
    fc.record({ passes: fc.constantFrom(1, 59, 1800, 3600, 90_000) }),
    fc.record({ defaultTtl: fc.constantFrom(null, -1, 60, 3600, 86_400, 200_000) }),
  ),
  { maxLength: 20, size: 'max' },
)

async function happened(list: typeof events extends fc.Arbitrary<infer Events> ? Events : never) {
  const { clock, store, container } = await fresh(null)
  let present: ContainerRecord = container
  for (const [n, event] of list.entries()) {
    if ('ttl' in event) await put(store, present, String(n), event.ttl)
    else if ('passes' in event) clock.advance(event.passes)
    else present = await setDefault(store, present, event.defaultTtl)
  }
  return { clock, store, container: present }
}

const longAfter = 10_000_000

describe('the forecast', () => {
  test('splits its window into equal, adjacent buckets', async () => {
    const { store, container } = await fresh(10)
    const { buckets } = await forecast(store, container, { windowSeconds: 100, bucketCount: 4 })
    assert.deepEqual(
      buckets.map(({ start: from, end }) => [from - start, end - start]),
      [
        [0, 25],
        [25, 50],
        [50, 75],
        [75, 100],
      ],
    )
    const uneven = await forecast(store, container, { windowSeconds: 10, bucketCount: 4 })
    assert.deepEqual(
      uneven.buckets.map(({ end }) => end - start),
      [3, 5, 8, 10],
    )
  })

  test('puts each item into the bucket of its deadline, by the rule that ends it', async () => {
    const { clock, store, container } = await fresh(50)
    await put(store, container, 'dead', 1)
    clock.advance(1)
    await put(store, container, 'inherits')
    await put(store, container, 'at the edge', 25)
    await put(store, container, 'behind the edge', 26)
    await put(store, container, 'after the window', 101)
    await put(store, container, 'never', -1)
    const { buckets, later, never } = await forecast(store, container, { windowSeconds: 100, bucketCount: 4 })
    assert.deepEqual(
      buckets.map(({ inherited, own }) => [inherited, own]),
      [
        [0, 1],
        [1, 1],
        [0, 0],
        [0, 0],
      ],
    )
    assert.deepEqual({ later, never }, { later: 1, never: 1 })
  })

  test('is refused for a bucket number that is not whole, too large, or gives less than a second each', async () => {
    const { store, container } = await fresh(1)
    for (const [windowSeconds, bucketCount] of [
      [100, 0],
      [100, -1],
      [100, 1.5],
      [100_000, 1001],
      [2, 3],
    ] as const) {
      await assert.rejects(forecast(store, container, { windowSeconds, bucketCount }), { kind: 'malformed' })
    }
    assert.equal((await forecast(store, container, { windowSeconds: 1000, bucketCount: 1000 })).buckets.length, 1000)
  })

  test('counts every living item once, and comes true', async () => {
    await fc.assert(
      fc.asyncProperty(events, fc.integer({ min: 5, max: 300_000 }), async (list, windowSeconds) => {
        const { clock, store, container } = await happened(list)
        const before = await ttlStatus(store, container)
        const { buckets, later, never } = await forecast(store, container, { windowSeconds, bucketCount: 5 })
        let left = before.living
        for (const { end, inherited, own } of buckets) {
          clock.set(end)
          left -= inherited + own
          assert.equal((await ttlStatus(store, container)).living, left)
        }
        assert.equal(left, later + never)
        clock.advance(longAfter)
        assert.equal((await ttlStatus(store, container)).living, never)
      }),
      { numRuns: 150 },
    )
  })
})

describe('the preview of a change', () => {
  test('changes nothing', async () => {
    const { clock, store, container } = await fresh(null)
    await put(store, container, 'a')
    clock.advance(100)
    assert.equal((await preview(store, container, 10)).now, 1)
    assert.equal((await store.read(container, keyNamed('a'))).item?.version, 1)
    assert.deepEqual(await store.findContainer('d', 'c'), container)
  })

  test('counts items with their own deadline while expiry is off', async () => {
    const { clock, store, container } = await fresh(null)
    await put(store, container, 'over', 50)
    await put(store, container, 'soon', 150)
    await put(store, container, 'inherits')
    await put(store, container, 'never', -1)
    clock.advance(100)
    const [none, some] = [await preview(store, container, -1), await preview(store, container, 100_000)]
    assert.deepEqual(none, { now: 1, within1h: 1, within24h: 0, later: 0, never: 2 })
    assert.deepEqual(some, { now: 1, within1h: 1, within24h: 0, later: 1, never: 1 })
    assert.deepEqual(await preview(store, container, null), { now: 0, within1h: 0, within24h: 0, later: 0, never: 4 })
  })

  test('is refused for a value that is not a default', async () => {
    const { store, container } = await fresh(10)
    for (const value of [0, -2, 1.5, 2_147_483_648]) {
      await assert.rejects(preview(store, container, value), { kind: 'malformed' })
    }
  })

  test('does not promise to revive the dead', async () => {
    const { clock, store, container } = await fresh(10)
    await put(store, container, 'dead')
    clock.advance(10)
    await put(store, container, 'alive')
    assert.deepEqual(await preview(store, container, null), { now: 0, within1h: 0, within24h: 0, later: 0, never: 1 })
  })

  test('comes true to the item when the change is made', async () => {
    const changes = fc.constantFrom(null, -1, 1, 60, 3600, 86_400, 200_000)
    await fc.assert(
      fc.asyncProperty(events, changes, async (list, defaultTtl) => {
        const { clock, store, container } = await happened(list)
        const { living } = await ttlStatus(store, container)
        const foreseen = await preview(store, container, defaultTtl)
        const changed = await setDefault(store, container, defaultTtl)
        const moment = await store.moment()
        const livingAfter = async (seconds: number) => {
          clock.set(moment + seconds)
          return (await ttlStatus(store, changed)).living
        }
        const [now, hour, day] = [await livingAfter(0), await livingAfter(3600), await livingAfter(86_400)]
        const ever = await livingAfter(longAfter)
        assert.deepEqual(foreseen, {
          ...{ now: living - now, within1h: now - hour, within24h: hour - day, later: day - ever, never: ever },
        })
      }),
      { numRuns: 150 },
    )
  })
})

describe('an item explained', () => {
  const off = 'Expiry is off for this container, so the item lives for ever; a ttl of its own is only data.'
  const never = 'The item never expires: its own ttl is -1, or it has none and the container has no default.'
  const by = { inherited: "the container's default of 100 s", own: 'its own ttl of 40 s' }
  const lives = (left: number, until: number, source: string) =>
    `The item lives until ${timeText(start + until, start + until - left)}, by ${source}, counted from its last write.`
  const died = (ago: number, at: number, source: string) =>
    `The item died at ${timeText(start + at, start + at + ago)}, by ${source}, counted from its last write. It waits ` +
    'to be removed; nobody sees it.'

  // Default, ttl, seconds after the write: state, rule, effective ttl, expires after, seconds left; and the
  // sentence.
  type Row = [
    number | null,
    number | undefined,
    number,
    Explanation['state'],
    Explanation['rule'],
    number | null,
    number | null,
    number | null,
    string,
  ]
  const rows: Row[] = [
    [null, undefined, 50, 'alive', 'off', null, null, null, off],
    [null, 40, 50, 'alive', 'off', null, null, null, off],
    [null, -1, 50, 'alive', 'off', null, null, null, off],
    [-1, undefined, 50, 'alive', 'never', -1, null, null, never],
    [-1, -1, 50, 'alive', 'never', -1, null, null, never],
    [100, -1, 500, 'alive', 'never', -1, null, null, never],
    [-1, 40, 0, 'alive', 'own', 40, 40, 40, lives(40, 40, by.own)],
    [-1, 40, 39, 'alive', 'own', 40, 40, 1, lives(1, 40, by.own)],
    [-1, 40, 40, 'dead', 'own', 40, 40, null, died(0, 40, by.own)],
    [100, 40, 50, 'dead', 'own', 40, 40, null, died(10, 40, by.own)],
    [100, undefined, 99, 'alive', 'inherited', 100, 100, 1, lives(1, 100, by.inherited)],
    [100, undefined, 100, 'dead', 'inherited', 100, 100, null, died(0, 100, by.inherited)],
    [100, undefined, 160, 'dead', 'inherited', 100, 100, null, died(60, 100, by.inherited)],
  ]
  for (const [defaultTtl, ttl, seconds, state, rule, effectiveTtl, expires, secondsLeft, explanation] of rows) {
    test(`default ${defaultTtl ?? 'off'}, ttl ${ttl ?? 'absent'}, ${seconds} s after the write`, async () => {
      const { clock, store, container } = await fresh(defaultTtl)
      await put(store, container, 'a', ttl)
      clock.advance(seconds)
      assert.deepEqual(await explain(store, container, keyNamed('a')), {
        ...{ state, rule, ts: start, defaultTtl, ttl: ttl ?? null, effectiveTtl },
        ...{ expiresAt: expires === null ? null : start + expires, secondsLeft, explanation },
      })
    })
  }

  const final =
    'The item died under an earlier setting of the container. Death is final: a later setting does not revive it.'
  for (const [before, ttl, after] of [
    [100, undefined, null],
    [100, undefined, -1],
    [100, undefined, 100_000],
    [100, 40, null],
    [-1, 40, null],
  ] as const) {
    test(`died under default ${before} with ttl ${ttl ?? 'absent'}, default now ${after ?? 'off'}`, async () => {
      const { clock, store, container } = await fresh(before)
      await put(store, container, 'a', ttl)
      clock.advance(100)
      const changed = await setDefault(store, container, after)
      const { state, rule, secondsLeft, explanation } = await explain(store, changed, keyNamed('a'))
      const expected = { state: 'dead', rule: 'final', secondsLeft: null, explanation: final }
      assert.deepEqual({ state, rule, secondsLeft, explanation }, expected)
    })
  }

  test('is unknown when it was never written, was deleted, or has been removed', async () => {
    const { clock, store, container } = await fresh(100)
    await put(store, container, 'deleted')
    await store.write(container, { kind: 'delete', key: keyNamed('deleted') })
    await put(store, container, 'removed')
    clock.advance(100)
    await store.sweep(container, 10)
    for (const id of ['never there', 'deleted', 'removed']) {
      assert.deepEqual(await explain(store, container, keyNamed(id)), {
        ...{ state: 'unknown', rule: null, ts: null, defaultTtl: 100, ttl: null, effectiveTtl: null, expiresAt: null },
        secondsLeft: null,
        explanation: 'There is no such item: it was never written, was deleted, or has died and been removed.',
      })
    }
  })
})

test('counting works over more rows than one turn examines', async () => {
  const { clock, store, container } = await fresh(10)
  await putMany(store, container, 5000)
  clock.advance(1)
  await putMany(store, container, 5002, 9)
  const { buckets } = await forecast(store, container, { windowSeconds: 10, bucketCount: 10 })
  assert.deepEqual(
    buckets.map(({ inherited, own }) => inherited + own),
    [0, 0, 0, 0, 0, 0, 0, 0, 10_002, 0],
  )
  clock.advance(9)
  assert.equal((await ttlStatus(store, container)).backlog, 10_002)
})

test('a preview and a forecast count those that die in them, and not all that live', async () => {
  const { clock, store, container } = await fresh(1_000_000)
  await putMany(store, container, 3000)
  clock.advance(500_000)
  await putMany(store, container, 20, 50)
  await putMany(store, container, 10, -1)
  let counted = 0
  const counting = new Proxy(store, {
    get: (target, name) => {
      if (name === 'count') {
        return async (...asked: Parameters<typeof store.count>) => {
          const count = await target.count(...asked)
          counted += count
          return count
        }
      }
      const value: unknown = Reflect.get(target, name)
      return typeof value === 'function' ? value.bind(target) : value
    },
  })
  const { within1h, later, never } = await preview(counting, container, 2_000_000)
  assert.deepEqual({ within1h, later, never }, { within1h: 20, later: 3000, never: 10 })
  assert.equal(counted, 30)
  counted = 0
  const foreseen = await forecast(counting, container, { windowSeconds: 100, bucketCount: 1 })
  assert.deepEqual({ later: foreseen.later, never: foreseen.never }, { later: 3000, never: 10 })
  assert.equal(counted, 30)
})
