/** Tests that a call has one moment, with a clock that moves at every reading. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { groupTurnsMax } from '../../src/adapters/sqlite/turns.ts'
import { type Clock, toEpochSeconds } from '../../src/base/clock.ts'
import { groupWritesMax, sliceRowsMax } from '../../src/base/limits.ts'
import type { WriteAnswer } from '../../src/store/writing.ts'
import { certain, keyNamed, makeContainer, manualClock, openStore, put, putMany, setDefault, start } from './fixture.ts'

class RestlessClock implements Clock {
  readonly mode = 'system'
  at = start
  /** How far it moves at each reading. */
  stepS = 0

  now() {
    this.at += this.stepS
    return toEpochSeconds(this.at)
  }

  nowMs() {
    return this.now() * 1000
  }

  sure() {
    return toEpochSeconds(this.at)
  }

  readonly doubt = certain.doubt
  readonly doubtEndsAt = certain.doubtEndsAt
  readonly stepSecondsMax = certain.stepSecondsMax
  readonly returns = certain.returns
  readonly returnedSeconds = certain.returnedSeconds
  readonly trust = certain.trust
}

async function withRestlessClock(defaultTtl: number | null) {
  const clock = new RestlessClock()
  const store = openStore(clock)
  return { clock, store, container: await makeContainer(store, defaultTtl) }
}

const everything = { min: '', maxExclusive: 'FF' }
const wholePage = { itemsMax: 100_000, bytesMax: 100_000_000 }

describe('a clock that never stands still', () => {
  test('gives one moment to all writes of one turn, and every item carries it', async () => {
    const { clock, store, container } = await withRestlessClock(null)
    clock.stepS = 1
    const answers = await Promise.all(['a', 'b', 'c'].map(id => put(store, container, id, 10)))
    assert.deepEqual(new Set(answers.map(({ moment }) => moment)), new Set([answers[0]!.moment]))
    for (const { item, moment } of answers) assert.deepEqual([item!.ts, item!.deadline], [moment, moment + 10])
  })

  test('gives one moment to each commit, if the writes need several', async () => {
    const { clock, store, container } = await withRestlessClock(null)
    clock.stepS = 1
    const ids = Array.from({ length: 2 * groupWritesMax + 1 }, (_, n) => String(n))
    const answers: WriteAnswer[] = await Promise.all(ids.map(id => put(store, container, id)))
    const moments = answers.map(({ moment }) => moment)
    assert.deepEqual(
      [...new Set(moments)].map(moment => moments.filter(each => each === moment).length),
      [groupWritesMax, groupWritesMax, 1],
    )
    assert.deepEqual(moments, moments.toSorted())
    assert.deepEqual(
      answers.map(({ version }) => version),
      ids.map(id => Number(id) + 1),
      'in the order of the calls',
    )
  })

  test('gives one moment to writes over a few turns, but not to an endless series', async () => {
    const { clock, store, container } = await withRestlessClock(null)
    clock.stepS = 1
    const writes: Promise<WriteAnswer>[] = []
    for (let n = 0; n < 4 * groupTurnsMax; n++) {
      writes.push(put(store, container, String(n)))
      await new Promise(resolve => setImmediate(resolve))
    }
    const moments = (await Promise.all(writes)).map(({ moment }) => moment)
    const groups = [...new Set(moments)].map(moment => moments.filter(each => each === moment).length)
    assert.equal(groups[0], groupTurnsMax + 1, `groups of ${groups}`)
    assert.ok(Math.max(...groups) <= groupTurnsMax + 1, `groups of ${groups}`)
  })

  test('lets a sweep, a write and a change of the default in one commit agree on which items are dead', async () => {
    const { clock, store, container } = await withRestlessClock(10)
    await put(store, container, 'old')
    clock.at += 1
    await put(store, container, 'young')
    // The commit's moment is the deadline of the old item; a second reading would kill the young one too.
    clock.at += 8
    clock.stepS = 1
    const [swept, created, replaced, changed] = await Promise.all([
      store.sweep(container, 10),
      store.write(container, { kind: 'create', key: keyNamed('old'), ttl: undefined, draft: draft() }),
      store.write(container, { kind: 'replace', key: keyNamed('young'), ttl: 3, draft: draft() }),
      setDefault(store, container, null),
    ])
    assert.deepEqual(swept, { removed: 1, done: true })
    assert.deepEqual([created.outcome, replaced.outcome], ['created', 'replaced'])
    assert.deepEqual([created.moment, replaced.moment, changed.ts], [start + 10, start + 10, start + 10])
    assert.deepEqual(changed.policy, { defaultTtl: null, inheritedDeadAt: start, ownDeadAt: start + 10 })
  })

  test('gives one moment to a read: the read is judged at the moment in its answer', async () => {
    const { clock, store, container } = await withRestlessClock(10)
    await put(store, container, 'a')
    clock.stepS = 1
    for (let second = 1; second < 20; second++) {
      const { moment, item } = await store.read(container, keyNamed('a'))
      assert.equal(moment, start + second)
      assert.equal(item !== undefined, second < 10)
    }
  })

  test('gives one moment to a page, also when it takes many turns', async () => {
    const { clock, store, container } = await withRestlessClock(null)
    await putMany(store, container, sliceRowsMax + 10, 5)
    await put(store, container, 'zzz', 8)
    await setDefault(store, container, -1)
    clock.at += 5
    clock.stepS = 1
    const { items, moment } = await store.scan(container, everything, wholePage)
    assert.equal(moment, start + 6)
    assert.equal(items.length, 1, 'who lives at the first look is on the page')
  })
})

function draft() {
  return { texts: ['{}'], stamps: [] }
}

describe('a page that takes several turns', () => {
  /** Many dead rows, so that a page takes more turns than a write waits for, and a living item after them. */
  async function longStretch() {
    const clock = manualClock()
    const store = openStore(clock)
    const container = await makeContainer(store, -1)
    await putMany(store, container, (groupTurnsMax + 1) * sliceRowsMax + 1, 1)
    clock.advance(1)
    await put(store, container, 'y', 10)
    await put(store, container, 'z', 1)
    return { clock, store, container }
  }
  const ids = (page: { items: readonly { deadline: number | null }[] }) => page.items.map(({ deadline }) => deadline)

  test('finds the living after any number of dead rows', async () => {
    const { store, container } = await longStretch()
    const page = await store.scan(container, everything, wholePage)
    assert.deepEqual(ids(page), [start + 11, start + 2])
    assert.equal(page.last, undefined)
  })

  test('sees writes of its own second meanwhile', async () => {
    const { store, container } = await longStretch()
    const asked = store.scan(container, everything, wholePage)
    await put(store, container, 'yy', 20)
    assert.deepEqual(ids(await asked), [start + 11, start + 21, start + 2])
  })

  test('is not affected by writes of a later second', async () => {
    const { clock, store, container } = await longStretch()
    const asked = store.scan(container, everything, wholePage)
    clock.advance(1)
    await put(store, container, 'yy', 20)
    const page = await asked
    assert.ok(ids(page).includes(start + 11))
  })

  test('nor is a part of it that is read in a later second', async () => {
    const clock = manualClock()
    const store = openStore(clock)
    const container = await makeContainer(store, null)
    await put(store, container, 'a')
    using at = await store.view(container)
    clock.advance(1)
    await put(store, container, 'b')
    const { items } = await store.scan(container, { ...everything, at }, wholePage)
    assert.equal(items[0]?.key.id, 'a')
  })

  test('gives the same result whether or not the dead of a later second are swept', async () => {
    const pages: unknown[] = []
    for (const isSwept of [false, true]) {
      const { clock, store, container } = await longStretch()
      const asked = store.scan(container, everything, wholePage)
      clock.advance(1)
      if (isSwept) await store.sweep(container, 2 * sliceRowsMax)
      pages.push(ids(await asked))
    }
    assert.deepEqual(pages[1], pages[0])
  })

  test('uses one default, also when that changes meanwhile', async () => {
    const clock = manualClock()
    const store = openStore(clock)
    const container = await makeContainer(store, null)
    await putMany(store, container, 4)
    clock.advance(10)
    const two = { itemsMax: 2, bytesMax: 1000 }
    const first = await store.scan(container, everything, two)
    await setDefault(store, container, 10)
    const rest = await store.scan(container, { ...everything, after: first.last, at: first }, two)
    assert.equal(rest.items.length, 2, 'a page sees the default before or after a change, for all items')
  })
})

test('a page cut by bytes continues in the same way, swept or not', async () => {
  const next: string[][] = []
  for (const isSwept of [false, true]) {
    const clock = manualClock()
    const store = openStore(clock)
    const container = await makeContainer(store, -1)
    await put(store, container, 'a')
    await put(store, container, 'b', 1)
    await put(store, container, 'c')
    clock.advance(1)
    if (isSwept) await store.sweep(container, 10)
    const { items, last } = await store.scan(container, everything, { itemsMax: 10, bytesMax: 1 })
    assert.equal(items.length, 1)
    await put(store, container, 'b')
    const page = await store.scan(container, { ...everything, after: last }, wholePage)
    next.push(page.items.map(({ key }) => key.id))
  }
  assert.deepEqual(next[0], next[1])
})
