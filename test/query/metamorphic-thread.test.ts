/**
 * Random queries over random items on disk: the query thread makes the same pages as the main thread, and
 * together they are the rows of the naive executor.
 *
 * MAYFLY_QUERY_RUNS=10000 runs that many queries. MAYFLY_SEED and MAYFLY_PATH reproduce a
 * failure, as in metamorphic.test.ts.
 */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { test } from 'node:test'
import type { QueriedPage } from '../../src/engine/query.ts'
import type { PagePosition } from '../../src/query/execute.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc, isReplay } from '../support/property.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { QueryWorld } from './fixture.ts'
import { indexSets, items, parameters, printQuery, queries, type RandomQuery } from './random-query.ts'
import { assertGives } from './same-rows.ts'

const { MAYFLY_QUERY_RUNS } = process.env

/** Many queries per world, because each world has a file and a thread. */
const queriesPerWorld = 60

const directory = temporaryDirectory()

/** Everything except the elapsed time. */
function known({ rows, origins, next, version, indexUse, statistics }: QueriedPage) {
  return { rows, origins: Array.from(origins!), next, version, indexUse, statistics: { ...statistics, elapsedMs: 0 } }
}

/** All rows; every page is made in both threads. */
async function queryTwice(world: QueryWorld, query: RandomQuery, rowsMax: number): Promise<SqlValue[]> {
  const text = printQuery(query)
  const rows: SqlValue[] = []
  let position: PagePosition | undefined
  do {
    world.runner = undefined
    const here = await world.page(text, position, { parameters, rowsMax })
    world.runner = world.thread
    const there = await world.page(text, position, { parameters, rowsMax })
    assert.deepEqual(known(there), known(here), text)
    // A page tells of all its rows where they come from, or of none.
    assert.ok([0, 2 * here.rows.length].includes(here.origins!.length), text)
    rows.push(...there.rows.map(row => JSON.parse(String(row))))
    position = there.next
  } while (position !== undefined)
  return rows
}

test('the query thread makes the same pages as the main thread', async () => {
  const made = { indexed: 0, remote: 0 }
  let worlds = 0
  const property = fc.asyncProperty(
    items(0),
    indexSets,
    fc.array(queries, { minLength: 1, maxLength: 2 * queriesPerWorld, size: 'max' }),
    async (all, indexes, list) => {
      const partitions = worlds % 2 === 0 ? 1 : 5
      await using world = await QueryWorld.make({ partitions, directory: join(directory, String(worlds++)) })
      await world.fill(all, indexes)
      for (const [at, query] of list.entries()) {
        const rows = await queryTwice(world, query, [1, 7, 1000][at % 3]!)
        // Ties from several partitions come in the order of the scan, as in one.
        assertGives(query, rows, all as unknown as SqlValue[], `${partitions} partition(s)`)
        const { indexUse } = await world.page(printQuery(query), undefined, { parameters })
        if (indexUse.used.length > 0) made.indexed++
      }
      made.remote += world.remotePages
    },
  )
  const wanted = MAYFLY_QUERY_RUNS === undefined ? 600 : Number(MAYFLY_QUERY_RUNS)
  await fc.assert(property, {
    numRuns: Math.ceil(wanted / queriesPerWorld),
  })
  if (!isReplay) assert.ok(made.indexed > 10 && made.remote > wanted / 3, JSON.stringify(made))
})
