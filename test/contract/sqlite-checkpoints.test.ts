/**
 * Checkpoints of the SQLite store: the WAL stays short, and becomes short again after a reader that held it.
 */

import assert from 'node:assert/strict'
import { mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { checkpointPages } from '../../src/adapters/sqlite/checkpoints.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { dataFile } from '../../src/adapters/sqlite/schema.ts'
import { pageBytes } from '../../src/adapters/sqlite/settings.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { QueryThreads } from '../../src/server/query-thread/query-threads.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

/** About 120 pages each. */
const content = { text: 'x'.repeat(1_000_000) }
const itemPages = 125

async function world({ isThreadBroken = false } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-'))
  const thread = new QueryThreads(directory, silentLog)
  let checkpoints = 0
  const inThread = async () => {
    if (isThreadBroken) throw new Error('The thread is broken.')
    await thread.checkpoint()
    checkpoints++
  }
  let latest = Promise.resolve()
  const checkpoint = () => {
    latest = inThread()
    return latest
  }
  const onFatal = (error: Error) => {
    throw error
  }
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const store = withContract(openSqlite({ directory, clock: () => clock, onFatal, checkpoint }))
  const container = await makeContainer(store, null)
  const file = join(directory, dataFile)
  const other = new DatabaseSync(file, { readOnly: true })
  let items = 0
  return {
    other,
    write: () => store.write(container, put('create', keyOf(`${items++}`), { content })),
    logPages: () => Number(other.prepare('PRAGMA wal_checkpoint(NOOP)').get()!.log),
    logFilePages: async () => Math.floor((await stat(`${file}-wal`)).size / pageBytes),
    checkpoints: () => checkpoints,
    /** The thread has done what it was asked, however long it took. */
    threadRests: () => latest.catch(() => {}),
    filePages: async () => Math.floor((await stat(file)).size / pageBytes),
    [Symbol.asyncDispose]: async () => {
      other.close()
      await thread[Symbol.asyncDispose]()
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

test('the writer runs a checkpoint from time to time', async () => {
  await using file = await world()
  for (let n = 0; n < 60; n++) {
    await file.write()
    // Some more commits may come before the checkpoint.
    assert.ok((await file.logFilePages()) < checkpointPages + 5 * itemPages, `${await file.logFilePages()} pages`)
  }
  assert.ok((await file.filePages()) > 5 * checkpointPages)
  assert.equal(file.checkpoints(), 0)
})

for (const isThreadBroken of [false, true]) {
  const who = isThreadBroken ? 'by the writer when the thread is broken' : 'by the thread'
  test(`a WAL that grew during a read gets a checkpoint ${who}, and starts again`, async () => {
    await using file = await world({ isThreadBroken })
    await file.write()
    file.other.exec('BEGIN')
    file.other.prepare('SELECT count(*) FROM sqlite_master').get()
    while ((await file.logFilePages()) < 6 * checkpointPages) await file.write()
    const filePages = await file.filePages()
    file.other.exec('COMMIT')
    let writes = 0
    while (file.logPages() > checkpointPages + 5 * itemPages) {
      await file.write()
      await file.threadRests()
      assert.ok(++writes < 100, 'the log never begins anew')
    }
    assert.equal(file.checkpoints() > 0, !isThreadBroken)
    assert.ok((await file.filePages()) > filePages + 4 * checkpointPages)
  })
}
