/**
 * Random queries through the official client, over one and over five partitions and in all its modes, give
 * the rows of the naive executor. So plans, rewritten queries and pages fit together.
 *
 * MAYFLY_SEED, MAYFLY_PATH and MAYFLY_QUERY_RUNS work as in metamorphic.test.ts.
 */

import { randomUUID } from 'node:crypto'
import { test } from 'node:test'
import type { Container, JSONValue } from '@azure/cosmos'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { fc } from '../support/property.ts'
import { startServer, type TestServer } from '../support/start-server.ts'
import { modes } from './client-modes.ts'
import type { Item } from './fixture.ts'
import { items, type Order, parameters, printQuery, queries, type RandomQuery } from './random-query.ts'
import { assertGives } from './same-rows.ts'

const { MAYFLY_QUERY_RUNS } = process.env

const servers = [await startServer({ partitions: 1 }), await startServer({ partitions: 5 })]

const queriesPerContainer = 10

function order(expression: string, isDescending: boolean): Order {
  return { expression, isDescending }
}

/** The orders that the declared index serves. */
const served = [
  [order('c.n', false), order('c.s', false)],
  [order('c.n', true), order('c.s', true)],
]

/** Queries that the client cannot run correctly are left out; client-flaws.ts pins them. */
function isForClient({ selection, from, orderBy, isDistinct }: RandomQuery): boolean {
  const selected = JSON.stringify(selection)
  const isSplittable = !/DISTINCT|GROUP BY/.test(from)
  const hasOneType = orderBy.every(({ expression }) => ['c.n', 'c["n"]', 'c.s', 'c.id'].includes(expression))
  const isServed =
    orderBy.length < 2 ||
    (!from.startsWith('(') && served.some(each => JSON.stringify(each) === JSON.stringify(orderBy)))
  const isTruthy = !isDistinct || typeof selection !== 'string'
  const isSummable = !/(SUM|MAX|MIN|AVG)\(c\.a\)/.test(selected)
  const isNull = typeof selection !== 'string' && /MIN|MAX|AVG/.test(selected)
  const isOrderedAggregate = orderBy.length > 0 && /(SUM|MAX|MIN|AVG|COUNT|COUNTIF)\(/.test(selected)
  return isSplittable && hasOneType && isServed && isTruthy && isSummable && !isNull && !isOrderedAggregate
}

const wantedOrders = fc.constantFrom(...served, [order('c.s', true)])

const clientQueries = fc
  .tuple(queries, fc.option(wantedOrders, { nil: undefined }))
  .map(([query, orderBy]) => (query.orderBy.length > 0 && orderBy !== undefined ? { ...query, orderBy } : query))
  .filter(isForClient)

/**
 * The client refuses to merge an order in which some rows have no value. It compares text by UTF-16 units,
 * not by code points as the partitions do.
 */
function mergeable(item: Item): Item {
  const { n = 0, s } = item
  const isPlain = typeof s === 'string' && [...s].every(character => character < '\ud800')
  return { ...item, n, s: isPlain ? s : 'a' }
}

async function fill({ client }: TestServer, all: readonly Item[]): Promise<Container> {
  const { database } = await client.databases.createIfNotExists({ id: 'random' })
  const compositeIndexes = [['n', 's'].map(name => ({ path: `/${name}`, order: 'ascending' }))]
  const indexingPolicy = { compositeIndexes } as object
  const { container } = await database.containers.create({ id: randomUUID(), partitionKey: '/pk', indexingPolicy })
  for (const item of all) await container.items.create(item)
  return container
}

const system = ['_rid', '_self', '_etag', '_attachments', '_ts']

function stripped(value: SqlValue): SqlValue {
  if (typeof value !== 'object' || value === null) return value
  if (Array.isArray(value)) return value.map(stripped)
  const kept = Object.entries(value).filter(([name]) => !system.includes(name))
  return Object.fromEntries(kept.map(([name, part]) => [name, stripped(part as SqlValue)]))
}

test('the client gives the rows of the naive executor', async () => {
  const spec = [...parameters].map(([name, value]) => ({ name, value: value as JSONValue }))
  const property = fc.asyncProperty(
    items(0).map(list => list.map(mergeable)),
    fc.array(clientQueries, { minLength: 1, maxLength: 2 * queriesPerContainer, size: 'max' }),
    async (all, list) => {
      const containers = await Promise.all(servers.map(server => fill(server, all)))
      for (const query of list) {
        const text = printQuery(query)
        for (const [at, container] of containers.entries()) {
          const mode = modes[(text.length + at) % modes.length]!
          const rows = (await mode.fetch(container, { query: text, parameters: spec }, mode.options)).map(stripped)
          const what = `${mode.name} over ${at === 0 ? 1 : 5}`
          assertGives(query, rows, all as unknown as SqlValue[], what, { isMerged: true })
        }
      }
      await Promise.all(containers.map(container => container.delete()))
    },
  )
  await fc.assert(property, {
    numRuns: Math.ceil((MAYFLY_QUERY_RUNS === undefined ? 300 : Number(MAYFLY_QUERY_RUNS)) / queriesPerContainer),
  })
})
