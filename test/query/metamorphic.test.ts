/**
 * Random queries over random items give the same result however they are served: over one partition or
 * several, with or without indexes, in pages of any size. It equals the result of the naive executor over the
 * items in memory.
 *
 * A failure is shrunk and printed with its seed and path. To reproduce it:
 *
 *   MAYFLY_SEED=… MAYFLY_PATH=… node --test test/query/metamorphic.test.ts
 *
 * MAYFLY_QUERY_RUNS=100000 runs that many queries instead of the few thousand that fit into `npm test`.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { prepareQuery } from '../../src/sql/prepare.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import type { ScanRange } from '../../src/store/reading.ts'
import { fc, isReplay } from '../support/property.ts'
import { everything, type Item, QueryWorld } from './fixture.ts'
import { indexSets, items, parameters, partitionKeys, printQuery, queries, type RandomQuery } from './random-query.ts'
import { assertGives } from './same-rows.ts'

const { MAYFLY_QUERY_RUNS } = process.env

/** On average; fewer after shrinking a failure. */
const queriesPerWorld = 10

const pageSizes = [1, 7, 1000]

/** The whole container and one partition key with one partition; one physical partition with several. */
async function checkQuery(world: QueryWorld, query: RandomQuery, all: readonly Item[], name: string): Promise<void> {
  const prepared = prepareQuery(printQuery(query))
  const check = async (range: ScanRange, rowsMax: number, expected: readonly Item[]) => {
    const what = `${name}, pages of ${rowsMax}, ${JSON.stringify(range)}`
    const rows = await world.query(prepared, { parameters, range, rowsMax })
    assertGives(query, rows, expected as unknown as SqlValue[], what)
  }
  const ranges = await world.ranges()
  // The query determines the part, so that a failure can be shrunk.
  const turn = prepared.text.length
  if (ranges.length === 1) {
    for (const rowsMax of pageSizes) await check(everything, rowsMax, all)
    const pk = partitionKeys[turn % partitionKeys.length]!
    const own = all.filter(item => item.pk === pk)
    await check(await world.partition(pk), pageSizes[turn % 3]!, own)
  } else {
    const range = ranges[turn % ranges.length]!
    await check(range, pageSizes[turn % 3]!, await itemsWithin(world, all, range))
  }
}

async function itemsWithin(world: QueryWorld, all: readonly Item[], range: ScanRange): Promise<Item[]> {
  const answer = await world.store.scan(await world.container(), range, { itemsMax: 1000, bytesMax: 1e9 })
  const ids = new Set(answer.items.map(({ key }) => key.id))
  return all.filter(({ id }) => ids.has(id))
}

test('one partition or five, indexes or none, pages of 1, 7 or all: the rows of the naive executor', async () => {
  const used = { indexes: 0, counts: 0 }
  const property = fc.asyncProperty(
    items(0),
    indexSets,
    fc.array(queries, { minLength: 1, maxLength: 2 * queriesPerWorld, size: 'max' }),
    async (all, indexes, list) => {
      for (const partitions of [1, 5]) {
        for (const made of [[], indexes]) {
          await using world = await QueryWorld.make({ partitions })
          await world.fill(all, made)
          const name = `${partitions} partition(s), ${made.length} index(es)`
          for (const query of list) {
            await checkQuery(world, query, all, name)
            const { indexUse, statistics } = await world.page(printQuery(query), undefined, { parameters })
            if (indexUse.used.length > 0) used.indexes++
            if (indexUse.used.length > 0 && statistics.itemsRead === 0) used.counts++
          }
        }
      }
    },
  )
  const wanted = MAYFLY_QUERY_RUNS === undefined ? 3000 : Number(MAYFLY_QUERY_RUNS)
  await fc.assert(property, {
    numRuns: Math.ceil(wanted / queriesPerWorld),
  })
  // Queries that no index serves prove nothing about indexes.
  if (!isReplay) assert.ok(used.indexes > 200 && used.counts > 20, JSON.stringify(used))
})
