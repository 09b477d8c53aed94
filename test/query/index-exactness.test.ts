/**
 * Indexes have exactly the living items at every moment: during and after the build, whatever is written,
 * dies and is swept, and however large a value or a list is.
 */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { anyElement, indexEntriesPerItemMax } from '../../src/document/index-definition.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import { indexKeyBytesMax } from '../../src/document/key-bytes.ts'
import { adaptiveUnusedWritesMin, adaptiveWishesMax } from '../../src/engine/index-keeper.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import type { IndexRecord } from '../../src/store/catalog.ts'
import { fc } from '../support/property.ts'
import { ascending, type Components, descending, everything, type Item, QueryWorld, reference } from './fixture.ts'
import { indexSets, partitionKeys, properties } from './random-query.ts'

const allKeys = [{ low: new Uint8Array(), high: Uint8Array.of(0xff) }]
const page = { itemsMax: 100_000, bytesMax: 1e9 }

/** Item and key of every entry of a living item, in index order. */
async function entriesOf(world: QueryWorld, { definition }: IndexRecord, isReverse = false): Promise<string[]> {
  const range = { index: definition.number, keys: allKeys, isReverse, within: everything }
  const { items } = await world.store.scanIndex(await world.container(), range, page)
  return items.map(({ key, indexKey }) => `${Buffer.from(indexKey).toString('hex')} ${key.id}`)
}

function expectedEntries({ definition }: IndexRecord, living: readonly Item[]): string[] {
  return living.flatMap(item =>
    indexKeys(definition, item).keys.map(key => `${Buffer.from(key).toString('hex')} ${item.id}`),
  )
}

type Step =
  | { readonly kind: 'put'; readonly at: number; readonly properties: object; readonly ttl: number | undefined }
  | { readonly kind: 'delete'; readonly at: number }
  | { readonly kind: 'advance' | 'sweep' | 'build'; readonly by: number }

const at = fc.nat(14)
const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constant('put' as const),
      at,
      properties,
      ttl: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ kind: fc.constant('delete' as const), at }) },
  {
    weight: 6,
    arbitrary: fc.record({
      kind: fc.constantFrom('advance', 'sweep', 'build', 'build'),
      by: fc.integer({ min: 1, max: 4 }),
    }),
  },
)

test('every index has exactly the entries of the living items after each step of a random history', async () => {
  let compared = 0
  const property = fc.asyncProperty(
    fc.array(fc.tuple(at, properties), { maxLength: 10 }),
    indexSets,
    fc.array(step, { maxLength: 40, size: 'max' }),
    async (before, indexes, history) => {
      await using world = await QueryWorld.make({ defaultTtl: -1 })
      const present = new Map<string, { item: Item; deadline: number }>()
      const put = async (number: number, rest: object, ttl: number | undefined) => {
        const item: Item = { id: `i${number}`, pk: partitionKeys[number % partitionKeys.length]!, ...rest }
        await world.put(ttl === undefined ? item : { ...item, ttl })
        const deadline = ttl === undefined ? Number.POSITIVE_INFINITY : world.clock.now() + ttl
        present.set(item.id, { item: ttl === undefined ? item : { ...item, ttl }, deadline })
      }
      const living = () =>
        [...present.values()].filter(({ deadline }) => deadline > world.clock.now()).map(({ item }) => item)

      for (const [number, rest] of before) await put(number, rest, undefined)
      for (const components of indexes) await world.beginIndex(components)
      for (const each of history) {
        if (each.kind === 'put') await put(each.at, each.properties, each.ttl)
        else if (each.kind === 'delete') {
          const found = living().find(({ id }) => id === `i${each.at}`)
          if (found !== undefined) await world.delete(found)
          present.delete(`i${each.at}`)
        } else if (each.kind === 'advance') world.clock.advance(each.by)
        else if (each.kind === 'sweep') await world.sweep(each.by)
        else {
          const building = (await world.container()).indexes.find(({ isReady }) => !isReady)
          if (building !== undefined) await world.buildStep(building.definition.number, each.by)
        }
        for (const index of (await world.container()).indexes) {
          if (!index.isReady) continue
          compared++
          const entries = await entriesOf(world, index)
          assert.deepEqual(entries.toSorted(), expectedEntries(index, living()).sort())
          const keys = entries.map(entry => entry.split(' ')[0]!)
          assert.deepEqual(keys, keys.toSorted(), 'in the order of the keys')
          assert.deepEqual((await entriesOf(world, index, true)).reverse(), entries, 'and the same from the end')
        }
      }
      // When the dead items are removed, so are their entries.
      for (const { definition, isReady } of (await world.container()).indexes) {
        while (!isReady && !(await world.buildStep(definition.number, 100))) {}
      }
      await world.sweep()
      const container = await world.container()
      for (const index of container.indexes) {
        const count = await world.store.countEntries(container, {
          index: index.definition.number,
          keys: allKeys,
        })
        assert.equal(count, expectedEntries(index, living()).length)
      }
    },
  )
  await fc.assert(property, { numRuns: 150 })
  assert.ok(compared > 1000, String(compared))
})

describe('values larger than a key', () => {
  const stem = 'x'.repeat(2 * indexKeyBytesMax)
  const words = [
    '',
    'a',
    `${stem}`,
    `${stem}a`,
    `${stem}b`,
    `${stem}ba`,
    `${stem}é`,
    `${stem}😀`,
    `${stem.slice(1)}`,
    'y',
  ]
  const items: Item[] = words.flatMap((s, number) => [
    { id: `i${number}`, pk: 'p', s, n: number % 3, o: { deep: [s] } },
    { id: `j${number}`, pk: 'q', s, n: number % 2 },
  ])
  const queries = [
    ...['', ' DESC'].map(direction => `SELECT VALUE c.id FROM c ORDER BY c.s${direction}`),
    ...['', ' DESC'].map(
      direction => `SELECT VALUE c.id FROM c WHERE c.s >= ${JSON.stringify(stem)} ORDER BY c.s${direction}`,
    ),
    'SELECT VALUE c.id FROM c ORDER BY c.n, c.s',
    'SELECT VALUE c.id FROM c ORDER BY c.n DESC, c.s DESC',
    ...words.flatMap(word => {
      const text = JSON.stringify(word)
      return [
        `c.s = ${text}`,
        `c.s > ${text}`,
        `c.s <= ${text}`,
        `STARTSWITH(c.s, ${text})`,
        `c.n = 1 AND c.s < ${text}`,
      ].flatMap(filter => [`SELECT VALUE c.id FROM c WHERE ${filter}`, `SELECT VALUE COUNT(1) FROM c WHERE ${filter}`])
    }),
    `SELECT VALUE c.id FROM c WHERE c.s IN (${words.map(word => JSON.stringify(word))})`,
    `SELECT VALUE c.id FROM c WHERE c.s BETWEEN ${JSON.stringify(stem)} AND ${JSON.stringify(`${stem}b`)}`,
  ]

  for (const [name, indexes] of [
    ['one path', [[ascending('s')]]],
    ['two paths', [[ascending('n'), ascending('s')]]],
    ['a list', [[ascending('o', 'deep')]]],
  ] as const) {
    test(`are found and ordered as without an index: ${name}`, async () => {
      await using world = await QueryWorld.make()
      await world.put(...items)
      for (const components of indexes) await world.index(components)
      const [index] = (await world.container()).indexes
      assert.equal(index!.hasCutKeys, true)
      for (const query of queries) {
        for (const rowsMax of [3, 1000]) {
          const rows = await world.query(query, { rowsMax })
          const isOrdered = query.includes('ORDER BY')
          const isReverse = query.includes('DESC')
          const expected = reference(query, (isReverse ? items.toReversed() : items) as unknown as SqlValue[])
          assert.deepEqual(isOrdered ? rows : rows.toSorted(), isOrdered ? expected : expected.toSorted(), query)
        }
      }
    })
  }
})

describe('lists with more elements than an item may have entries', () => {
  const path: Components = [{ path: ['tags', anyElement], isDescending: false }]
  const long = Array.from({ length: indexEntriesPerItemMax + 1 }, (_, tag) => `t${tag}`)
  const short = { id: 'short', pk: 'p', tags: ['t5', 't5', 'other'] }
  const query = 'SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.tags, "t5")'

  test('are found, whether written before or after the index', async () => {
    for (const isBefore of [true, false]) {
      await using world = await QueryWorld.make()
      await world.put(short)
      if (isBefore) await world.put({ id: 'long', pk: 'p', tags: long })
      await world.index(path)
      if (!isBefore) await world.put({ id: 'long', pk: 'p', tags: long })
      assert.deepEqual((await world.query(query)).toSorted(), ['long', 'short'])
      assert.deepEqual(await world.query('SELECT VALUE COUNT(1) FROM c WHERE ARRAY_CONTAINS(c.tags, "t5")'), [2])
    }
  })

  test('end a walk along the index cleanly', async () => {
    await using world = await QueryWorld.make()
    await world.put(short, { ...short, id: 'second', pk: 'q' }, { ...short, id: 'third', pk: 'r' })
    await world.index(path)
    const first = await world.page(query, undefined, { rowsMax: 1 })
    assert.deepEqual(first.indexUse.used, [['tags', anyElement]])
    await world.put({ id: 'long', pk: 'p', tags: long })
    await assert.rejects(world.page(query, first.next, { rowsMax: 1 }), /^RequestError: Invalid Continuation Token/)
  })

  test('with the allowed number of entries are in the index', async () => {
    await using world = await QueryWorld.make()
    await world.put({ id: 'long', pk: 'p', tags: [...long.slice(1), 't5', 't6'] })
    await world.index(path)
    const { rows, indexUse } = await world.page(query, undefined)
    assert.deepEqual(rows, ['"long"'])
    assert.deepEqual(indexUse.used, [['tags', anyElement]])
  })
})

describe('a walk whose index was dropped', () => {
  async function twoOfThree(components: Components, query: string) {
    const world = await QueryWorld.make()
    await world.put(...[0, 1, 2].map(n => ({ id: `i${n}`, pk: `p${n}`, a: n, b: 10 - n })))
    const number = await world.index(components)
    const first = await world.page(query, undefined, { rowsMax: 1 })
    assert.equal(first.indexUse.used.length > 0, true)
    return { world, number, first }
  }

  test('continues if the result is in sort key order', async () => {
    const query = 'SELECT VALUE c.a FROM c ORDER BY c.a DESC'
    const { world, number, first } = await twoOfThree([ascending('a')], query)
    await world.dropIndex(number)
    const rest = await world.page(query, first.next)
    assert.deepEqual([...first.rows, ...rest.rows], ['2', '1', '0'])
    await world[Symbol.asyncDispose]()
  })

  test('is refused if the order was that of the index', async () => {
    const query = 'SELECT VALUE c.a FROM c WHERE c.a >= 0'
    const { world, number, first } = await twoOfThree([ascending('a')], query)
    await world.dropIndex(number)
    await assert.rejects(world.page(query, first.next), /^RequestError: Invalid Continuation Token/)
    await world[Symbol.asyncDispose]()
  })

  test('finds everything by a record of the container that is as old as the walk', async () => {
    const { world, number } = await twoOfThree([ascending('a')], 'SELECT VALUE c.a FROM c ORDER BY c.a')
    const container = await world.container()
    await world.dropIndex(number)
    while (await world.store.reclaim(1)) {}
    const rowsOf = async (query: string) => (await world.page(query, undefined, { container })).rows
    assert.deepEqual(await rowsOf('SELECT VALUE c.a FROM c ORDER BY c.a'), ['0', '1', '2'])
    assert.deepEqual((await rowsOf('SELECT VALUE c.a FROM c WHERE c.a >= 1')).toSorted(), ['1', '2'])
    assert.deepEqual(await rowsOf('SELECT VALUE COUNT(1) FROM c WHERE c.a >= 1'), ['2'])
    await world[Symbol.asyncDispose]()
  })

  test('does not accept another index with the same number, and accepts its own again', async () => {
    const query = 'SELECT VALUE c.a FROM c WHERE c.a >= 0 AND c.b >= 0'
    const { world, number, first } = await twoOfThree([ascending('a')], query)
    await world.dropIndex(number)
    while (await world.store.reclaim(100)) {}
    assert.equal(await world.index([ascending('b')]), number, 'numbers are given again')
    await assert.rejects(world.page(query, first.next), /^RequestError: Invalid Continuation Token/)
    await world.index([ascending('a')])
    const rest = await world.page(query, first.next)
    assert.deepEqual([...first.rows, ...rest.rows], ['0', '1', '2'])
    await world[Symbol.asyncDispose]()
  })
})

test('an index that only serves counts is in use', async () => {
  await using world = await QueryWorld.make()
  const used = await world.index([ascending('a')])
  await world.index([ascending('b')])
  const look = async () => {
    world.engine.indexes.wake()
    await turns(50)
    return (await world.container()).indexes.map(({ definition }) => definition.number)
  }
  assert.equal((await look()).length, 2)
  const writes = Array.from({ length: 500 }, (_, n) => ({ id: `i${n}`, pk: 'p', a: n, b: n }))
  for (let done = 0; done < adaptiveUnusedWritesMin; done += writes.length) await world.put(...writes)
  const { rows, statistics } = await world.page('SELECT VALUE COUNT(1) FROM c WHERE c.a >= 0 AND c.a < 100', undefined)
  assert.deepEqual([rows, statistics.itemsRead], [['100'], 0])
  assert.deepEqual(await look(), [used], 'and the other one goes')
})

test('a client that invents paths does not fill the memory: the least recently used path is forgotten', async () => {
  await using world = await QueryWorld.make()
  const { indexes } = world.engine
  const container = await world.container()
  const rows = 2000
  const almost = 5 * rows - 1
  for (let path = 0; path <= adaptiveWishesMax; path++)
    indexes.noteScan(container, ascending(`path${path}`), { scanned: almost, rows, isPromised: false })
  indexes.noteScan(container, ascending('path0'), { scanned: 1, rows, isPromised: false })
  await turns(50)
  assert.deepEqual((await world.container()).indexes, [])
})

test('a page over several turns ignores writes of later seconds, with and without an index', async () => {
  for (const isIndexed of [false, true]) {
    await using world = await QueryWorld.make({ defaultTtl: 1000 })
    const items = Array.from({ length: 3000 }, (_, n) => ({ id: `i${n}`, pk: n % 7, n, padding: 'x'.repeat(300) }))
    await world.put(...items)
    if (isIndexed) await world.index([ascending('n'), descending('pk')])
    const counted = world.page('SELECT VALUE COUNT(c.padding) FROM c WHERE c.n >= 0', undefined)
    for (let second = 0; second < 20; second++) {
      await turns(1)
      world.clock.advance(1)
      await world.put({ ...items[2999 - second]!, padding: 'y' }, { id: `new${second}`, pk: 1, n: -1 })
    }
    assert.deepEqual((await counted).rows, ['3000'])
  }
})

/** Gives background work time to run. */
async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise(resolve => setImmediate(resolve))
}

test('a position names its index in source order only: a position in sort order fits any source', async () => {
  await using world = await QueryWorld.make()
  await world.fill([0, 1, 2, 3, 4, 5].map(n => ({ id: `i${n}`, pk: `p${n}`, n })) as Item[], [[ascending('n')]])
  const nextOf = async (query: string) => {
    const { next, indexUse } = await world.page(query, undefined, { rowsMax: 2 })
    assert.equal(indexUse.used.length, 1, query)
    return next ?? assert.fail('there is one page only')
  }
  assert.match((await nextOf('SELECT * FROM c WHERE c.n > 1')).index ?? '', /^.{12}$/)
  assert.equal((await nextOf('SELECT * FROM c WHERE c.n > 1 ORDER BY c.n')).index, undefined)
})
