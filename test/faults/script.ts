/**
 * A fixed script of writes, sweeps and checkpoints, on a directory whose disk may fail. Checkpoints are
 * frequent, and run by the writer and, as far as the disk can tell, by the thread for checkpoints.
 */

import { stat } from 'node:fs/promises'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { withContract } from '../../src/adapters/contract.ts'
import { checkpointFile } from '../../src/adapters/sqlite/file/checkpoints.ts'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { Store } from '../../src/store/port.ts'
import { keyOf, makeContainer } from '../contract/store-contract.ts'
import { writeMarks } from '../support/end-marks.ts'
import { put } from '../support/item-write.ts'

export const scriptWrites = 30

/** Some commits are enough for a checkpoint, and some checkpoints for a WAL that shall begin anew. */
const checkpointPages = 8

/** Numbers of items that are written while a checkpoint runs. */
const firstMeanwhile = 100

export interface Played {
  readonly acknowledged: readonly number[]
  /** `done`, or why it ended early. */
  readonly end: string
  /** Undefined if it could not be opened. */
  readonly store: Store | undefined
}

export async function playScript(directory: string, onAcknowledged: (n: number) => void = () => {}): Promise<Played> {
  const acknowledged: number[] = []
  let end = 'done'
  let store: Store | undefined
  let container: ContainerRecord | undefined
  let meanwhile = firstMeanwhile
  const write = async (n: number, characters: number) => {
    const create = put('create', keyOf(`${n}`), { content: { text: 'x'.repeat(characters) } })
    const answer = await store!.write(container!, create).catch(() => undefined)
    if (answer?.outcome !== 'created') return
    acknowledged.push(n)
    onAcknowledged(n)
  }
  let latest = Promise.resolve()
  const checkpoint = () => {
    latest = behindTheWriter(directory, () => write(meanwhile++, 10))
    return latest
  }
  try {
    const clock = new ManualClock(toEpochSeconds(1_000_000))
    const onFatal = () => {
      end = 'fatal'
    }
    store = withContract(openSqlite({ directory, clock: () => clock, onFatal, checkpoint, checkpointPages }))
    container = await makeContainer(store, null)
    for (let n = 0; n < scriptWrites; n++) {
      await write(n, n * 100)
      // A checkpoint begins two turns after the answer.
      for (let turn = 0; turn < 3; turn++) await nextTurn()
      await latest.catch(() => {})
      // What syncs the file is done before this.
      await stat(directory)
      await nextTurn()
      if (n % 10 === 3) writeMarks()
      if (n % 10 !== 9) continue
      await store.write(container, put('upsert', keyOf('dying'), { ttl: 1 })).catch(() => undefined)
      clock.advance(2)
      await store.sweep(container, 100).catch(() => undefined)
      // In the first round the WAL stays, and gets long.
      if (n < 10) continue
      // Four idle moments: after them the WAL is cut.
      for (let idle = 0; idle < 4; idle++) await store.reclaim(100).catch(() => undefined)
    }
    for (const n of acknowledged) {
      const isLost = end === 'done' && (await found(store, container, n)) === 'lost'
      if (isLost) end = `${n} is lost`
    }
  } catch (error) {
    end = end === 'done' ? `refused: ${(error as Error).message}` : end
  }
  return { acknowledged, end, store }
}

/**
 * As under load: the writer goes on meanwhile, so not all of the WAL is copied, and SQLite does not sync the
 * data file. In this thread, so that the calls have a fixed order.
 */
async function behindTheWriter(directory: string, write: () => Promise<void>): Promise<void> {
  using reader = new DatabaseSync(join(directory, dataFile), { readOnly: true })
  reader.exec('BEGIN')
  reader.prepare('SELECT count(*) FROM sqlite_schema').get()
  await write()
  checkpointFile(directory)
}

/** A read that fails has lost nothing. */
async function found(store: Store, container: ContainerRecord, n: number) {
  try {
    return (await store.read(container, keyOf(`${n}`))).item === undefined ? 'lost' : 'there'
  } catch {
    return 'unreadable'
  }
}

function nextTurn(): Promise<void> {
  return new Promise(resolve => machine.setImmediate(resolve))
}
