/**
 * Plays the script again and again, in one process with the library loaded: another call fails each time.
 * Started by faults.ts.
 */

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { refuseLostWrites } from '../../src/adapters/sqlite/file/wal-damage.ts'
import { readLog, withoutDropped } from './disk-log.ts'
import type { Campaign } from './faults.ts'
import { playScript, scriptWrites } from './script.ts'
import { beginRun, callsSoFar, type FaultKind, scratch, storeFiles } from './shim.ts'

const every = Number(process.argv[2])
const kinds = process.argv[3]!.split(',') as FaultKind[]
const log = `${process.env.FAULT_COUNT}.log`

/** Returns how the script ended. */
async function play(at: number, kind: FaultKind): Promise<{ calls: number; end: string; isDropped: boolean }> {
  const directory = scratch('mayfly-faults-')
  const image = scratch('mayfly-image-')
  const disk = scratch('mayfly-dropped-')
  try {
    // Written down only for one kind, because it takes time.
    const logged = kind === 'EIO' ? log : ''
    process.env.FAULT_LOG = logged
    writeFileSync(log, '')
    beginRun(at, kind)
    const { acknowledged, end, store } = await playScript(directory)
    const calls = callsSoFar()
    const place = `call ${at}, ${kind}, ${end}`
    if (at === 0) assert.ok(acknowledged.length > scriptWrites, `${acknowledged.length}`)
    assert.doesNotMatch(end, /lost/, place)
    beginRun()
    // The copies have the same names.
    process.env.FAULT_LOG = ''
    for (const name of storeFiles) {
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(image, name))
    }
    process.env.FAULT_LOG = logged
    await store?.[Symbol.asyncDispose]()
    const dropped = kind === 'EIO' ? withoutDropped(readLog(readFileSync(log))) : undefined
    for (const [name, file] of dropped ?? []) {
      if (existsSync(join(directory, name))) writeFileSync(join(disk, name), file)
    }
    if (acknowledged.length > 0) {
      check(image, acknowledged, place)
      if (dropped !== undefined) check(disk, acknowledged, `${place}, and what was not synced was dropped`)
    }
    return { calls, end, isDropped: dropped !== undefined }
  } finally {
    process.env.FAULT_LOG = ''
    for (const used of [directory, image, disk]) rmSync(used, { recursive: true })
    rmSync(log, { force: true })
  }
}

function check(directory: string, acknowledged: readonly number[], place: string): void {
  refuseLostWrites(directory)
  using db = new DatabaseSync(join(directory, dataFile))
  assert.equal(db.prepare('PRAGMA integrity_check').get()!.integrity_check, 'ok', place)
  const rows = db.prepare('SELECT id FROM items_1').all()
  const ids = new Set(rows.map(({ id }) => String(id)))
  const lost = acknowledged.filter(n => !ids.has(`${n}`))
  assert.deepEqual(lost, [], place)
}

const ends: Record<string, number> = {}
const { calls } = await play(0, 'EIO')
let runs = 0
let drops = 0
for (let at = 1; at <= calls; at += every) {
  for (const kind of kinds) {
    const { end, isDropped } = await play(at, kind)
    ends[end] = (ends[end] ?? 0) + 1
    runs++
    if (isDropped) drops++
  }
}
process.stdout.write(JSON.stringify({ calls, runs, drops, ends } satisfies Campaign))
