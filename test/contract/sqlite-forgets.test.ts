/** The files of the SQLite store hold nothing of removed items, and shrink after a large purge. */

import assert from 'node:assert/strict'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import type { Store } from '../../src/store/port.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const marker = 'remember-me'

async function world() {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-'))
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const onFatal = (error: Error) => {
    throw error
  }
  const store = withContract(openSqlite({ directory, clock: () => clock, onFatal }))
  const container = await makeContainer(store, 100)
  return {
    directory,
    clock,
    store,
    container,
    fileBytes: () => statSync(join(directory, dataFile)).size,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]()
      await rm(directory, { recursive: true })
    },
  }
}

/** What the purger does in idle time, with several looks at a quiet WAL. */
async function idle(store: Store): Promise<void> {
  for (let look = 0; look < 6; look++) while (await store.reclaim(sweepRowsMax)) {}
}

/** The files in which the bytes of the marker are, and how often. */
function traces(directory: string): Record<string, number> {
  const found = readdirSync(directory).map(name => {
    const text = readFileSync(join(directory, name)).toString('latin1')
    return [name, text.split(marker).length - 1] as const
  })
  return Object.fromEntries(found.filter(([, count]) => count > 0))
}

async function fill({ store, container }: Awaited<ReturnType<typeof world>>, items: number, text: string) {
  for (let n = 0; n < items; n += 100) {
    const group = Array.from({ length: 100 }, (_, at) => {
      // Neighbours in time are no neighbours in the key order, and bodies have all sizes.
      const number = n + at
      const key = keyOf(`${(number * 7919) % items}-${text}`)
      const content = { text: text.repeat(1 + (number % 97 === 0 ? 2000 : number % 60)) }
      return store.write(container, put('upsert', key, { content }))
    })
    await Promise.all(group)
  }
}

test('after a purge and an idle time no byte of the removed items is in any file', async () => {
  await using place = await world()
  const { store, container, clock, directory } = place
  await fill(place, 4000, marker)
  // Replaced with other sizes, so that they move within the file.
  await fill(place, 4000, `${marker}!`)
  assert.ok(Object.keys(traces(directory)).includes(dataFile))
  clock.advance(60)
  await fill(place, 2000, 'somebody else')
  clock.advance(60)
  while (!(await store.sweep(container, sweepRowsMax)).done) {}
  await idle(store)
  assert.deepEqual(traces(directory), {})
  assert.equal(statSync(join(directory, `${dataFile}-wal`)).size, 0)
  const db = new DatabaseSync(join(directory, dataFile), { readOnly: true })
  assert.deepEqual({ ...db.prepare('PRAGMA integrity_check').get() }, { integrity_check: 'ok' })
  db.close()
})

test('after a large purge the file shrinks, in steps', async () => {
  await using place = await world()
  const { store, container, clock, fileBytes } = place
  await fill(place, 16_000, marker)
  const largest = fileBytes()
  assert.ok(largest > 8_000_000, `${largest}`)
  clock.advance(200)
  while (!(await store.sweep(container, sweepRowsMax)).done) {}
  let steps = 0
  while (await store.reclaim(sweepRowsMax)) steps++
  assert.ok(steps > 10, `${steps} steps`)
  await idle(store)
  assert.ok(fileBytes() < largest / 4, `${fileBytes()} of ${largest} bytes are left`)
})

test('a sweep of large items takes few of them, because it overwrites them', async () => {
  await using place = await world()
  const { store, container, clock } = place
  for (let n = 0; n < 10; n++) {
    await store.write(container, put('create', keyOf(`${n}`), { content: { text: marker.repeat(100_000) } }))
  }
  clock.advance(200)
  assert.deepEqual(await store.sweep(container, sweepRowsMax), { removed: 3, done: false })
  let removed = 3
  while (removed < 10) removed += (await store.sweep(container, sweepRowsMax)).removed
  assert.deepEqual(await store.sweep(container, sweepRowsMax), { removed: 0, done: true })
})
