/** The operator's reports on a container, compared with counts made from the rows. */

import assert from 'node:assert/strict'
import type { StoredItem } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { explain, forecast, preview, ttlStatus } from '../../src/ttl/report.ts'
import { nameOf } from './model.ts'
import type { Operation } from './operations.ts'
import { keys, type World } from './world.ts'

type Row = Omit<StoredItem, 'body'>

export async function survey(world: World, asked: Extract<Operation, { op: 'survey' }>): Promise<void> {
  const { store, container, model } = world
  const twin = world.twin.store
  const moment = world.observe(await store.moment())
  const living = [...model.items.values()].filter(item => model.isAlive(item, moment))

  for (const each of [store, twin]) {
    const rows = await rowsOf(world, each)
    for (const item of living) {
      const { key, sequence, version } = world.asIn(each, item)
      const row = rows.get(nameOf(key))
      assert.deepEqual(
        { sequence: row?.sequence, version: row?.version },
        { sequence, version },
        'a living item is there',
      )
    }
    await checkCensus(world, each, [...rows.values()], asked)
    const status = await ttlStatus(each, container)
    assert.equal(status.living, living.length)
    assert.equal(status.backlog, rows.size - living.length)
    assert.equal(status.oldestDeadline === null, status.backlog === 0)
    assert.ok(status.lagSeconds >= 0)
  }
  assert.equal((await twin.census(container)).rows, model.items.size, 'the twin keeps all that was not written over')

  const window = { windowSeconds: asked.seconds, bucketCount: 3 }
  const foreseen = await forecast(store, container, window)
  assert.deepEqual(foreseen, await forecast(twin, container, window))
  for (const { start, end, inherited, own } of foreseen.buckets) {
    const dying = living.filter(item => model.isAlive(item, start) && !model.isAlive(item, end))
    assert.equal(own, dying.filter(({ ttl }) => ttl !== undefined).length)
    assert.equal(inherited, dying.filter(({ ttl }) => ttl === undefined).length)
  }
  const isMortal = (item: (typeof living)[number]) => !model.isAlive(item, Number.MAX_SAFE_INTEGER)
  assert.equal(foreseen.never, living.filter(item => !isMortal(item)).length)
  assert.equal(
    foreseen.later,
    living.filter(item => isMortal(item) && model.isAlive(item, moment + asked.seconds)).length,
  )
  assert.deepEqual(await preview(store, container, asked.defaultTtl), await preview(twin, container, asked.defaultTtl))
}

async function rowsOf({ container, model }: World, store: Store): Promise<Map<string, Row>> {
  const rows = new Map<string, Row>()
  for (const key of keys) {
    const row = await store.inspect(container, key)
    if (row !== undefined) rows.set(nameOf(key), row)
    const { state } = await explain(store, container, key)
    const expected = model.read(key, await store.moment()) === undefined ? 'dead' : 'alive'
    assert.equal(state, row === undefined ? 'unknown' : expected)
  }
  return rows
}

async function checkCensus(
  { container }: World,
  store: Store,
  rows: readonly Row[],
  asked: { after: number; seconds: number },
): Promise<void> {
  const written = rows.filter(({ deadline }) => deadline === null).map(({ ts }) => ts)
  const deadlines = rows.flatMap(({ deadline }) => deadline ?? [])
  const { version: _, writes: __, ...census } = await store.census(container)
  assert.deepEqual(census, {
    rows: rows.length,
    earliestInherited: written.length === 0 ? null : Math.min(...written),
    earliestOwn: deadlines.length === 0 ? null : Math.min(...deadlines),
    earliestLogged: null,
  })
  const after = (await store.moment()) + asked.after
  const upTo = after + asked.seconds
  const within = (at: number) => at > after && at <= upTo
  assert.equal(await store.count(container, { lifespan: 'inherited', after, upTo }), written.filter(within).length)
  assert.equal(await store.count(container, { lifespan: 'own', after, upTo }), deadlines.filter(within).length)
}
