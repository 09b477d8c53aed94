import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, type StoredTime, toEpochSeconds } from '../../src/base/clock.ts'
import { keyRange } from '../../src/document/ordered-key.ts'
import type { Store } from '../../src/store/port.ts'
import { type IndexPosition, wholeRange } from '../../src/store/reading.ts'
import { put } from '../support/item-write.ts'
import { changeContract } from './change-contract.ts'
import { journalContract } from './journal-contract.ts'
import { keyOf, makeContainer, type Opener, storeContract } from './store-contract.ts'
import { transactionContract } from './transaction-contract.ts'
import { verdictContract } from './verdict-contract.ts'

function fail(error: Error): void {
  throw error
}

async function temporaryDirectory() {
  return mkdtemp(join(tmpdir(), 'mayfly-contract-'))
}

function opened(directory: string | undefined, clock: ManualClock): Store {
  const startAt = ({ mark }: StoredTime) => {
    clock.set(Math.max(mark, clock.now()))
    return clock
  }
  return withContract(openSqlite({ directory, clock: startAt, onFatal: fail }))
}

async function onDisk(): Promise<Opener> {
  const directory = await temporaryDirectory()
  return {
    isLasting: true,
    open: async clock => opened(directory, clock),
    [Symbol.asyncDispose]: () => rm(directory, { recursive: true, force: true }),
  }
}

async function inMemory(): Promise<Opener> {
  return { isLasting: false, open: async clock => opened(undefined, clock), [Symbol.asyncDispose]: async () => {} }
}

for (const [name, prepare] of [
  ['SQLite on disk', onDisk],
  ['SQLite in memory', inMemory],
] as const) {
  storeContract(name, prepare)
  transactionContract(name, prepare)
  changeContract(name, prepare)
  journalContract(name, prepare)
  verdictContract(name, prepare)
}

test('the log of a deleted container is removed with its rows, and no other', async () => {
  const directory = await temporaryDirectory()
  const store = opened(directory, new ManualClock(toEpochSeconds(1)))
  const logged = async (id: string) =>
    (await store.updateContainer(await makeContainer(store, null, id), () => ({ logSeconds: 60 })))!
  const kept = await logged('kept')
  const gone = await logged('gone')
  for (let at = 0; at < 25; at++) {
    for (const container of [kept, gone]) await store.write(container, put('create', keyOf(`i${at}`)))
  }
  await store.deleteContainer(gone)
  let parts = 0
  while (await store.reclaim(10)) parts++
  assert.ok(parts > 4, 'a large log is removed in parts')
  await store[Symbol.asyncDispose]()
  const file = new DatabaseSync(join(directory, 'mayfly.db'))
  const left = file.prepare('SELECT container, count(*) AS entries FROM log GROUP BY container').all()
  file.close()
  assert.deepEqual(
    left.map(({ container, entries }) => [container, entries]),
    [[kept.number, 25]],
  )
  await rm(directory, { recursive: true })
})

test('a directory is refused to a second store, even in this process, and is free again after closing', async () => {
  const directory = await temporaryDirectory()
  const store = opened(directory, new ManualClock(toEpochSeconds(1)))
  assert.throws(() => opened(directory, new ManualClock(toEpochSeconds(1))), /in use by another Mayfly \(process \d+\)/)
  await makeContainer(store, 5)
  await store[Symbol.asyncDispose]()
  const again = opened(directory, new ManualClock(toEpochSeconds(1)))
  assert.notEqual(await again.findContainer('d', 'c'), undefined)
  await again[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

test('a call that reads an index over many key ranges looks at some of them', async () => {
  await using store = opened(undefined, new ManualClock(toEpochSeconds(1)))
  const container = await makeContainer(store, null)
  const components = [{ path: ['n'], isDescending: false }]
  const indexed = (await store.createIndex(container, { components, isDeclared: false }))!
  const index = indexed.indexes[0]!.definition.number
  const keys = Array.from({ length: 1000 }, (_, n) => keyRange({ equals: n }))
  let calls = 0
  let after: IndexPosition | undefined
  do {
    const range = { index, keys, isReverse: false, after, within: wholeRange }
    const page = await store.scanIndex(container, range, { itemsMax: 10, bytesMax: 1000 })
    assert.equal(page.isPart === true, page.last !== undefined)
    after = page.last
    calls++
  } while (after !== undefined)
  assert.ok(calls >= 10, `${calls} calls`)
})
