/** Tests of the log of slow queries: it has the plan and the cost, and no values. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { silentLog } from '../base/log.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemQuery, QueriedPage } from './query.ts'
import { logSlowPage } from './slow-queries.ts'

const container = { id: 'carts', database: { id: 'shop' } } as ContainerRecord

function logged(statement: object, indexUse: object) {
  let found: object = {}
  const log = {
    ...silentLog,
    warn(details: object) {
      found = details
    },
  }
  const page = { indexUse, statistics: { itemsRead: 900, rowsOut: 3 } } as unknown as QueriedPage
  const query = { statement: () => statement } as unknown as ItemQuery
  logSlowPage(log, { container, query, page, chargeRu: 12.5, ms: 1234.5 })
  return found
}

test('A slow page says which index it used or wished for, and what it cost', () => {
  const statement = { language: 'sql', text: 'SELECT * FROM c WHERE c.a = @a', parameters: new Map([['@a', 'secret']]) }
  const details = logged(statement, { used: [], wished: [['a']] })
  assert.deepEqual(details, {
    container: 'shop/carts',
    ms: 1235,
    chargeRu: 12.5,
    itemsRead: 900,
    rows: 3,
    plan: 'scan',
    indexWished: '/a/?',
    query: 'SELECT * FROM c WHERE c.a = @a',
  })
  assert.doesNotMatch(JSON.stringify(details), /secret/)
})

test('Of a Mongo query only the kind is logged, and a long text is cut', () => {
  const details = logged({ language: 'mql', query: { kind: 'find', filter: 'secret' } }, { used: [['a']], wished: [] })
  assert.partialDeepStrictEqual(details, { plan: 'index /a/?', query: 'find' })
  const long = logged({ language: 'sql', text: 'x'.repeat(5000) }, { used: [], wished: [] })
  assert.equal((long as { query: string }).query.length, 1000)
})
