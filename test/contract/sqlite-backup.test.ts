/** A store in memory is copied between its transactions, however busy it is. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import type { Step } from '../../src/store/writing.ts'
import { put } from '../support/item-write.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const itemsAtOnce = 30
const copies = 40

test('copies of a busy store in memory succeed, and none has a part of a transaction', async () => {
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const onFatal = (error: Error) => assert.fail(error)
  const store = withContract(openSqlite({ directory: undefined, clock: () => clock, onFatal }))
  const container = await makeContainer(store, null)
  const first = keyOf('0-0')
  let isOver = false
  const writing = (async () => {
    for (let turn = 0; !isOver; turn++) {
      const steps = Array.from({ length: itemsAtOnce }, (_, at): Step => {
        const key = keyOf(`${turn}-${at}`)
        const change = put('create', key, {})
        return { container, key, decide: () => change }
      })
      await store.transact(steps)
    }
  })()
  const folder = temporaryDirectory()
  try {
    for (let at = 0; at < copies; at++) {
      // Reads of one turn share a transaction.
      const reads = [store.read(container, first), store.read(container, first)]
      const path = join(folder, `${at}.db`)
      await store.backUp!(path)
      using copy = new DatabaseSync(path, { readOnly: true })
      const { count } = copy.prepare(`SELECT COUNT(*) AS count FROM items_${container.number}`).get() as {
        count: number
      }
      assert.equal(count % itemsAtOnce, 0)
      await Promise.all(reads)
    }
  } finally {
    isOver = true
    await writing
  }
})
