/**
 * Indexes built from sorted ranges are exact, whatever is written, rolled back, deleted, swept or dies while
 * another thread reads and sorts, and while the writer adds the sorted entries.
 */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { indexBuildEntriesMax, indexSortRowsMin } from '../../src/adapters/sqlite/sorted-build.ts'
import { RequestError } from '../../src/base/error.ts'
import { anyElement } from '../../src/document/index-definition.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import { itemKey } from '../../src/engine/item-key.ts'
import { Random } from '../crash/random.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { ascending, type Components, descending, everything, type Item, QueryWorld } from './fixture.ts'

const directory = temporaryDirectory()
let worlds = 0

const everyKey = [{ low: new Uint8Array(), high: Uint8Array.of(0xff) }]
const wholePage = { itemsMax: 100_000, bytesMax: 1e9 }

/** Removes the dead items, then compares all entries with all items. */
async function assertExact(world: QueryWorld, number: number): Promise<void> {
  while ((await world.sweep()) > 0) {}
  const { store } = world
  const container = await world.container()
  const { definition, isReady } = container.indexes.find(index => index.definition.number === number)!
  assert.equal(isReady, true)
  const { items } = await store.scan(container, everything, wholePage)
  const expected = items.flatMap(({ body, sequence }) =>
    indexKeys(definition, JSON.parse(String(body))).keys.map(key => nameOf(key, sequence)),
  )
  const range = { index: number, keys: everyKey, isReverse: false, within: everything }
  const found: string[] = []
  let after: Parameters<typeof store.scanIndex>[1]['after']
  do {
    const page = await store.scanIndex(container, { ...range, after }, wholePage)
    found.push(...page.items.map(({ indexKey, sequence }) => nameOf(indexKey, sequence)))
    after = page.last
  } while (after !== undefined)
  assert.deepEqual(found, expected.sort(), 'the entries of the living, in order')
  assert.equal(await store.countEntries(container, { index: number, keys: everyKey }), expected.length, 'and no others')
}

/** In the order of entries. */
function nameOf(key: Uint8Array, sequence: number): string {
  return `${Buffer.from(key).toString('hex')} ${String(sequence).padStart(8, '0')}`
}

const long = 'x'.repeat(300)

function itemOf(n: number, random: Random): Item {
  const item = { id: `i${n}`, pk: `p${n % 7}`, n: random.between(0, 1_000_000), s: `${random.between(0, 50)}` }
  const tags = Array.from({ length: random.between(0, 4) }, () => random.between(0, 30))
  return { ...item, tags, ...(random.chance(0.02) && { s: `${long}${n}` }), ...(random.chance(0.1) && { ttl: 5 }) }
}

/** One after the other until stopped: writes of all kinds, deaths, sweeps, rolled back transactions. */
async function disturb(world: QueryWorld, items: number, random: Random, isOver: () => boolean): Promise<void> {
  const container = await world.container()
  const keyOf = ({ pk, id }: Item) => itemKey(container, [pk], id)
  const anybody = () => itemOf(random.between(0, items - 1), random)
  while (!isOver()) {
    const kind = random.weighted({ put: 6, create: 2, delete: 3, refuse: 3, advance: 1, sweep: 1 })
    if (kind === 'put') await world.put(...Array.from({ length: random.between(1, 20) }, anybody))
    else if (kind === 'create') await world.put(itemOf(items + random.between(0, items), random))
    else if (kind === 'delete') await world.delete(anybody()).catch(() => {})
    else if (kind === 'advance') world.clock.advance(random.between(1, 3))
    else if (kind === 'sweep') await world.sweep(100)
    else await refuse(world, anybody(), keyOf)
  }
}

/** Writes an item and rolls that back. */
async function refuse(world: QueryWorld, item: Item, keyOf: (item: Item) => ReturnType<typeof itemKey>): Promise<void> {
  const container = await world.container()
  const draft = { texts: [JSON.stringify({ ...item, s: 'taken back' })], stamps: [] }
  const { refusal } = await world.store.transact([
    { container, key: keyOf(item), decide: () => ({ kind: 'upsert', draft, ttl: undefined }) },
    {
      container,
      key: keyOf(item),
      decide: () => {
        throw new RequestError('malformed', 'not this time')
      },
    },
  ])
  assert.notEqual(refusal, undefined)
}

const indexes: Readonly<Record<string, Components>> = {
  'one path': [ascending('n')],
  'few values, some of them cut': [ascending('s')],
  'elements of lists': [{ path: ['tags', anyElement], isDescending: false }],
  'two paths': [ascending('s'), descending('n')],
}

describe('an index built from sorted ranges, beside other work', () => {
  const count = 3 * indexSortRowsMin

  for (const [seed, [name, components]] of Object.entries(indexes).entries()) {
    test(`has the entries of all items and no others: ${name}`, async () => {
      const random = new Random(seed)
      await using world = await QueryWorld.make({ directory: join(directory, String(worlds++)), defaultTtl: -1 })
      await world.put(...Array.from({ length: count }, (_, n) => itemOf(n, random)))
      const number = await world.beginIndex(components)
      let isReady = false
      let steps = 0
      const disturbed = disturb(world, count, random, () => isReady)
      while (!isReady) {
        isReady = await world.buildStep(number, 100)
        steps++
        // Gives other work a turn; otherwise the writer would run alone.
        await new Promise(resolve => setImmediate(resolve))
      }
      await disturbed
      assert.ok(steps > 2 && steps < count / 100, `${steps} steps: in large parts, but not at once`)
      await assertExact(world, number)
      await world.put(...Array.from({ length: 50 }, (_, n) => itemOf(n, random)))
      await assertExact(world, number)
    })
  }

  test('does not interfere with another one that is built at the same time', async () => {
    const random = new Random(6)
    await using world = await QueryWorld.make({ directory: join(directory, String(worlds++)), defaultTtl: -1 })
    await world.put(...Array.from({ length: count }, (_, n) => itemOf(n, random)))
    const numbers = [
      await world.beginIndex(indexes['one path']!),
      await world.beginIndex(indexes['elements of lists']!),
    ]
    let isReady = false
    const disturbed = disturb(world, count, random, () => isReady)
    const build = async (number: number) => {
      while (!(await world.buildStep(number, 100))) await new Promise(resolve => setImmediate(resolve))
    }
    await Promise.all([...numbers, numbers[0]!].map(build))
    isReady = true
    await disturbed
    for (const number of numbers) await assertExact(world, number)
  })

  test('starts again when it is dropped and created again in the middle', async () => {
    const random = new Random(7)
    await using world = await QueryWorld.make({ directory: join(directory, String(worlds++)) })
    await world.put(...Array.from({ length: count }, (_, n) => itemOf(n, random)))
    const first = await world.beginIndex(indexes['one path']!)
    assert.equal(await world.buildStep(first, 100), false, 'sorted')
    assert.equal(await world.buildStep(first, 100), false, `${indexBuildEntriesMax} brought in`)
    await world.dropIndex(first)
    assert.equal(await world.buildStep(first, 100), true, 'gone')
    while (await world.store.reclaim(1000)) {}
    const second = await world.index(indexes['few values, some of them cut']!)
    assert.equal(second, first, 'under the same number')
    await assertExact(world, second)
  })

  test('is finished without the thread when that fails', async () => {
    const random = new Random(8)
    let started = 0
    await using world = await QueryWorld.make({
      directory: join(directory, String(worlds++)),
      startWorker: () => {
        started++
        return new Worker('process.exit(1)', { eval: true })
      },
    })
    await world.put(...Array.from({ length: indexSortRowsMin }, (_, n) => itemOf(n, random)))
    const number = await world.beginIndex(indexes['one path']!)
    while (!(await world.buildStep(number, 500))) {}
    assert.ok(started > 0)
    await assertExact(world, number)
  })
})
