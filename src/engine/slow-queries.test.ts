/** Tests of the log of slow queries: it has the plan and the cost, and no values. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { CapacityError } from '../base/error.ts'
import { silentLog } from '../base/log.ts'
import type { StreamHost } from '../query/hosted-stream.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemQuery } from './item-query.ts'
import { SlowQueries } from './slow-queries.ts'

const container = { id: 'carts', database: { id: 'shop' }, indexes: [] } as unknown as ContainerRecord
const demands = { demands: [], order: [{ path: ['b'], isDescending: false }] }

function logOf(): { readonly log: typeof silentLog; readonly lines: object[] } {
  const lines: object[] = []
  return { log: { ...silentLog, warn: details => void lines.push(details) }, lines }
}

async function logged(statement: object, make: () => Promise<never>) {
  const { log, lines } = logOf()
  const query = { statement: () => statement, demands, mayIndex: () => true } as unknown as ItemQuery
  const error = await new SlowQueries(log, 0).watchPage(container, query, make).then(
    () => undefined,
    error => error,
  )
  assert.equal(lines.length, 1)
  const { ms, ...details } = lines[0] as Record<string, unknown>
  assert.equal(typeof ms, 'number')
  return { details, error }
}

const pageWith = (indexUse: object) => async () =>
  ({ indexUse, statistics: { itemsRead: 900, rowsOut: 3 }, chargeRu: 12.5 }) as never

const secretive = { language: 'sql', text: 'SELECT * FROM c WHERE c.a = @a', parameters: new Map([['@a', 'secret']]) }

test('A slow page says which index it used or wished for, and what it cost', async () => {
  const { details } = await logged(secretive, pageWith({ used: [], wished: [['a']] }))
  assert.deepEqual(details, {
    container: 'shop/carts',
    chargeRu: 12.5,
    itemsRead: 900,
    rows: 3,
    plan: 'scan',
    indexWished: '/a/?',
    query: 'SELECT * FROM c WHERE c.a = @a',
  })
})

test('A page that failed after a long time is logged, with its plan and without the words of the error', async () => {
  const { details, error } = await logged(secretive, async () => {
    throw new CapacityError('timed_out', 'secret', 0)
  })
  assert.deepEqual(details, {
    container: 'shop/carts',
    plan: 'scan',
    indexWished: '/b/?',
    query: 'SELECT * FROM c WHERE c.a = @a',
    failed: 'timed_out',
  })
  assert.equal(error.message, 'secret', 'the caller gets the error')
})

test('Of a Mongo query only the kind is logged, and a long text is cut', async () => {
  const found = { language: 'mql', query: { kind: 'find', filter: 'secret' } }
  const { details } = await logged(found, pageWith({ used: [['a']], wished: [] }))
  assert.deepEqual([details.plan, details.query], ['index /a/?', 'find'])
  const long = await logged({ language: 'sql', text: 'x'.repeat(5000) }, pageWith({ used: [], wished: [] }))
  assert.equal((long.details.query as string).length, 1000)
})

test('A quick page, and one that is better made in another way, are not logged', async () => {
  const { log, lines } = logOf()
  const query = { demands, mayIndex: () => true } as unknown as ItemQuery
  await new SlowQueries(log, 60_000).watchPage(container, query, pageWith({ used: [], wished: [] }))
  await new SlowQueries(log, 0).watchPage(container, query, async () => undefined)
  assert.deepEqual(lines, [])
})

test('Each page of a pipeline in a thread is logged, but the time of the client is not', async () => {
  const { log, lines } = logOf()
  const statement = {
    language: 'mql',
    query: { kind: 'pipeline', namespace: { database: 'shop', collection: 'carts' } },
  }
  const host = { give: async () => {} } as unknown as StreamHost
  const left = new Error('nobody wants more')
  const held = new SlowQueries(log, 0).watchPipeline({ statement, passed: 0 } as never, host, async watching => {
    await watching.give({} as never)
    await watching.give({} as never)
    throw left
  })
  await assert.rejects(held, left)
  const about = { container: 'shop/carts', query: 'pipeline' }
  assert.deepEqual(
    lines.map(line => ({ ...line, ms: 0 })),
    [about, about, { ...about, failed: 'Error' }].map(line => ({ ...line, ms: 0 })),
  )
  const waiting = { give: () => new Promise<void>(() => {}) } as unknown as StreamHost
  const abandoned = new SlowQueries(log, 0).watchPipeline(
    { statement, passed: 0 } as never,
    waiting,
    async watching => {
      void watching.give({} as never)
      throw left
    },
  )
  await assert.rejects(abandoned, left)
  assert.equal(lines.length, 4, 'the client has its page, and left before it wanted another')
})
