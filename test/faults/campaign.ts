/**
 * Plays the script again and again, in one process with the library loaded: another call fails each time.
 * Started by faults.ts.
 */

import assert from 'node:assert/strict'
import { copyFileSync, existsSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { dataFile } from '../../src/adapters/sqlite/schema.ts'
import { playScript, scriptWrites } from './script.ts'
import { beginRun, callsSoFar, type FaultKind, faultKinds, scratch } from './shim.ts'

const every = Number(process.argv[2])

/** Returns how the script ended. */
async function play(at: number, kind: FaultKind): Promise<{ calls: number; end: string }> {
  const directory = scratch('mayfly-faults-')
  const image = scratch('mayfly-image-')
  try {
    beginRun(at, kind)
    const { acknowledged, end, store } = await playScript(directory)
    const calls = callsSoFar()
    const place = `call ${at}, ${kind}, ${end}`
    if (at === 0) assert.equal(acknowledged.length, scriptWrites)
    assert.doesNotMatch(end, /lost/, place)
    beginRun()
    // As a process that ends here would leave them.
    for (const name of [dataFile, `${dataFile}-wal`]) {
      if (existsSync(join(directory, name))) copyFileSync(join(directory, name), join(image, name))
    }
    await store?.[Symbol.asyncDispose]()
    if (acknowledged.length > 0) check(image, acknowledged, place)
    return { calls, end }
  } finally {
    rmSync(directory, { recursive: true })
    rmSync(image, { recursive: true })
  }
}

function check(directory: string, acknowledged: readonly number[], place: string): void {
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
for (let at = 1; at <= calls; at += every) {
  for (const kind of faultKinds) {
    const { end } = await play(at, kind)
    ends[end] = (ends[end] ?? 0) + 1
    runs++
  }
}
process.stdout.write(JSON.stringify({ calls, runs, ends }))
