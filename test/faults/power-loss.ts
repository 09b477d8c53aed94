/**
 * What a disk has after the power went: everything that was synced, and any part of the rest.
 *
 * The script is played once and all its writes are written down. Then the power goes before each of them.
 * Of the writes to a file since its last sync, some have reached the disk, in any order, and some of these
 * only in part. What was acknowledged before must be there.
 */

import assert from 'node:assert/strict'
import { readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { Random } from '../crash/random.ts'
import { apply, type Event, type Files, readLog } from './disk-log.ts'
import { underShim } from './faults.ts'
import { scratch, storeFiles } from './shim.ts'

/** Disks write sectors as a whole. */
const sectorBytes = 512

export interface PowerLoss {
  readonly cuts: number
  /** After how many of the cuts something acknowledged was missing, or the file was not whole. */
  readonly losses: number
  readonly firstLoss: string | undefined
}

/** `imagesPerCut`: how many of the possible states of the disk are looked at. */
export function losePower(
  library: string,
  synchronous: 'FULL' | 'NORMAL',
  { seed, every, imagesPerCut }: { seed: number; every: number; imagesPerCut: number },
): PowerLoss {
  const directory = scratch('mayfly-power-')
  try {
    const log = join(directory, 'log')
    const recording = join(import.meta.dirname, 'recording.ts')
    const variables = { FAULT_LOG: log }
    const { end } = underShim<{ end: string }>(library, recording, [directory, synchronous], variables)
    assert.equal(end, 'done')
    const events = readLog(readFileSync(log))
    let cuts = 0
    let losses = 0
    let firstLoss: string | undefined
    for (let cut = 1; cut <= events.length; cut += every) {
      for (let image = 0; image < imagesPerCut; image++) {
        const random = new Random(seed, cut, image)
        cuts++
        const loss = lossIn(imageAt(events.slice(0, cut), random, image === 0), acknowledgedIn(events.slice(0, cut)))
        if (loss === undefined) continue
        losses++
        firstLoss ??= `event ${cut} of ${events.length}, image ${image}: ${loss}`
      }
    }
    return { cuts, losses, firstLoss }
  } finally {
    rmSync(directory, { recursive: true })
  }
}

function acknowledgedIn(events: readonly Event[]): number[] {
  return events.filter(({ name }) => name.endsWith('-acknowledged')).map(({ data }) => data[0]!)
}

/** `losesAll`: nothing that was not synced has reached the disk. */
function imageAt(events: readonly Event[], random: Random, losesAll: boolean): Files {
  const lastSync = new Map<string, number>()
  for (const [index, { kind, name }] of events.entries()) if (kind === 's') lastSync.set(name, index)
  const files: Files = new Map()
  const keeps = losesAll ? 0 : random.fraction()
  for (const [index, event] of events.entries()) {
    const isSynced = index < (lastSync.get(event.name) ?? -1)
    if (isSynced) apply(files, event)
    else if (random.chance(keeps)) apply(files, random.chance(0.2) ? torn(event, random) : event)
  }
  return files
}

function torn(event: Event, random: Random): Event {
  if (event.kind !== 'w') return event
  const sectors = Math.ceil(event.data.length / sectorBytes)
  return { ...event, data: event.data.subarray(0, sectorBytes * random.between(0, sectors)) }
}

/** What is wrong with this state of the disk: also if the server would not start with it. */
function lossIn(files: Files, acknowledged: readonly number[]): string | undefined {
  const directory = scratch('mayfly-image-')
  try {
    for (const name of storeFiles) {
      const file = files.get(name)
      if (file !== undefined) writeFileSync(join(directory, name), file, { mode: 0o600 })
    }
    const clock = new ManualClock(toEpochSeconds(2_000_000))
    const onFatal = (error: Error) => {
      throw error
    }
    const store = openSqlite({ directory, clock: () => clock, onFatal })
    void store[Symbol.asyncDispose]()
    using db = new DatabaseSync(join(directory, dataFile))
    const { integrity_check } = db.prepare('PRAGMA integrity_check').get() as { integrity_check: string }
    if (integrity_check !== 'ok') return integrity_check
    if (acknowledged.length === 0) return undefined
    const ids = new Set(
      db
        .prepare('SELECT id FROM items_1')
        .all()
        .map(({ id }) => String(id)),
    )
    const lost = acknowledged.filter(n => !ids.has(`${n}`))
    return lost.length === 0 ? undefined : `${lost.join(', ')} of ${acknowledged.length} are lost`
  } catch (error) {
    return (error as Error).message
  } finally {
    rmSync(directory, { recursive: true })
  }
}
