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
import { checkpointPages, longPages } from '../../src/adapters/sqlite/file/checkpoints.ts'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { pageBytes } from '../../src/adapters/sqlite/file/settings.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import { silentLog } from '../../src/base/log.ts'
import { fromPlainError, toPlainError } from '../../src/server/query-thread/query-messages.ts'
import { QueryThreads } from '../../src/server/query-thread/query-threads.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

/** As the disk would fail in the thread: the error comes as a message. */
const threadError = (errcode: number) =>
  fromPlainError(structuredClone(toPlainError(Object.assign(new Error('disk I/O error'), { errcode }))))

/** About 120 pages each. */
const content = { text: 'x'.repeat(1_000_000) }
const itemPages = 125

async function world({ isThreadBroken = false, isThreadBehind = false, errcode = 0 } = {}) {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-'))
  const thread = new QueryThreads(directory, silentLog)
  let checkpoints = 0
  const inThread = async () => {
    if (errcode > 0) throw threadError(errcode)
    if (isThreadBroken) throw new Error('The thread is broken.')
    if (isThreadBehind) {
      // What is written after a reader has begun is not copied as long as it reads.
      other.exec('BEGIN')
      other.prepare('SELECT count(*) FROM sqlite_master').get()
      await write()
    }
    await thread.checkpoint()
    if (isThreadBehind) other.exec('COMMIT')
    checkpoints++
  }
  let latest = Promise.resolve()
  const checkpoint = () => {
    latest = inThread()
    return latest
  }
  const failures: Error[] = []
  const onFatal = (error: Error) => failures.push(error)
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const store = withContract(openSqlite({ directory, clock: () => clock, onFatal, checkpoint }))
  const container = await makeContainer(store, null)
  const file = join(directory, dataFile)
  const other = new DatabaseSync(file, { readOnly: true })
  let items = 0
  const write = () => store.write(container, put('create', keyOf(`${items++}`), { content }))
  return {
    other,
    write,
    failures,
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
      if (errcode === 0) assert.deepEqual(failures, [])
    },
  }
}

test('the writer runs the first checkpoint itself', async () => {
  await using file = await world()
  while ((await file.filePages()) < checkpointPages) {
    await file.write()
    // Some more commits may come before the checkpoint.
    assert.ok((await file.logFilePages()) < checkpointPages + 5 * itemPages, `${await file.logFilePages()} pages`)
  }
  assert.equal(file.checkpoints(), 0)
})

test('while much is written, the thread runs checkpoints, and the WAL begins anew when it is long', async ({
  mock,
}) => {
  // However slow the machine is, the checkpoints follow each other at once.
  mock.method(machine, 'monotonicMs', () => 0)
  await using file = await world({ isThreadBehind: true })
  const lengths: number[] = []
  for (let restarts = 0; restarts < 2; ) {
    await file.write()
    await file.threadRests()
    const pages = file.logPages()
    assert.ok(pages < 3 * longPages, `${pages} pages`)
    if (pages < (lengths.at(-1) ?? 0)) restarts++
    lengths.push(pages)
  }
  assert.ok(Math.max(...lengths) >= longPages)
  assert.ok(file.checkpoints() > 4, `${file.checkpoints()} checkpoints in the thread`)
})

test('if the thread keeps up, the WAL stays short', async ({ mock }) => {
  mock.method(machine, 'monotonicMs', () => 0)
  await using file = await world()
  for (let n = 0; n < 60; n++) {
    await file.write()
    // The checkpoint begins two turns after the answer.
    for (let turn = 0; turn < 3; turn++) await new Promise(resolve => machine.setImmediate(() => resolve(undefined)))
    await file.threadRests()
    assert.ok(file.logPages() < checkpointPages + 5 * itemPages, `${file.logPages()} pages`)
  }
  assert.ok(file.checkpoints() > 3)
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
    while (file.logPages() > longPages / 2) {
      await file.write()
      await file.threadRests()
      assert.ok(++writes < 100, 'the log never begins anew')
    }
    assert.equal(file.checkpoints() > 0, !isThreadBroken)
    assert.ok((await file.filePages()) > filePages + 4 * checkpointPages)
  })
}

const [failedSync, failedWrite] = [1034, 778]

test('a sync that failed in the thread ends the store, before another sync could hide it', async ({ mock }) => {
  mock.method(machine, 'monotonicMs', () => 0)
  await using file = await world({ errcode: failedSync })
  await assert.rejects(async () => {
    for (let n = 0; n < 60; n++) {
      await file.write()
      await file.threadRests()
    }
  }, /Reading or writing the data file failed/)
  assert.deepEqual(
    file.failures.map(({ message }) => message),
    ['Reading or writing the data file failed.'],
  )
})

test('another error of the thread is left to the next checkpoint of the writer', async ({ mock }) => {
  mock.method(machine, 'monotonicMs', () => 0)
  await using file = await world({ errcode: failedWrite })
  for (let n = 0; n < 40; n++) {
    await file.write()
    await file.threadRests()
  }
  assert.deepEqual(file.failures, [])
})
