import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { EpochSeconds } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import { type PastDocument, PastDocuments, type PastItem } from './past-documents.ts'

const key = (id: string) => ({ epk: '', pk: '', id })

const item = (version: number, bytes = 1): PastItem => ({
  version,
  ts: 0 as EpochSeconds,
  deadline: null,
  body: new Uint8Array(bytes),
})

const versionOf = (found: PastDocument | undefined) => found && (found.item?.version ?? 'none')

/** A write that is answered at once. */
function write(past: PastDocuments, id: string, found: PastItem | undefined, isStored = true): void {
  const watched = past.begin()
  watched?.note(1, key(id), found)
  past.end(watched, isStored)
}

test('a snapshot shows what the first write after it found', () => {
  const past = new PastDocuments()
  write(past, 'a', item(1))
  const first = past.open()
  write(past, 'a', item(2))
  const second = past.open()
  write(past, 'a', item(3))
  write(past, 'a', item(4))
  write(past, 'b', undefined)
  assert.deepEqual([versionOf(first.find(1, key('a'))), versionOf(second.find(1, key('a')))], [2, 3])
  assert.equal(versionOf(first.find(1, key('b'))), 'none')
  assert.equal(first.find(2, key('a')), undefined)
  assert.deepEqual([...second.documents(1).values()].map(versionOf), [3, 'none'])
  first.close()
  assert.equal(versionOf(second.find(1, key('a'))), 3)
  second.close()
})

test('a snapshot does not show a write that still runs, nor one that was answered later', () => {
  const past = new PastDocuments()
  const holder = past.open()
  const running = past.begin()
  running!.note(1, key('a'), item(1))
  const snapshot = past.open()
  assert.equal(versionOf(snapshot.find(1, key('a'))), 1)
  past.end(running, true)
  assert.equal(versionOf(snapshot.find(1, key('a'))), 1)
  const later = past.open()
  assert.equal(later.find(1, key('a')), undefined)
  for (const each of [holder, snapshot, later]) each.close()
})

test('a write that runs on when all snapshots are closed is noted for the next one', () => {
  const past = new PastDocuments()
  const first = past.open()
  const running = past.begin()
  running!.note(1, key('a'), item(1))
  first.close()
  const second = past.open()
  past.end(running, true)
  assert.equal(versionOf(second.find(1, key('a'))), 1)
})

test('a snapshot waits for the writes that began before anybody watched, and shows them', async () => {
  const past = new PastDocuments()
  const unwatched = past.begin()
  assert.equal(unwatched, undefined)
  const snapshot = past.open()
  let isReady = false
  const ready = snapshot.ready!.then(() => {
    isReady = true
  })
  write(past, 'a', item(1))
  await Promise.resolve()
  assert.equal(isReady, false)
  past.end(unwatched, true)
  await ready
  assert.equal(snapshot.find(1, key('a')), undefined)
  write(past, 'a', item(2))
  assert.equal(versionOf(snapshot.find(1, key('a'))), 2)
})

test('a write that is decided again notes what it found last; a refused one notes nothing', () => {
  const past = new PastDocuments()
  const snapshot = past.open()
  const watched = past.begin()
  watched!.note(1, key('a'), item(1))
  watched!.note(1, key('a'), item(2))
  assert.equal(versionOf(snapshot.find(1, key('a'))), 2)
  past.end(watched, false)
  assert.equal(snapshot.find(1, key('a')), undefined)
})

test('what is remembered has a limit: the oldest snapshot is given up', () => {
  const past = new PastDocuments()
  const oldest = past.open()
  write(past, 'a', item(1, 40 * MiB))
  const newest = past.open()
  write(past, 'b', item(1, 30 * MiB))
  assert.throws(() => oldest.find(1, key('a')), /written since the snapshot/)
  assert.equal(versionOf(newest.find(1, key('b'))), 1)
  assert.equal(newest.find(1, key('a')), undefined)
  // A document that changes often is remembered once.
  for (let version = 0; version < 100; version++) write(past, 'b', item(version, 30 * MiB))
  assert.equal(versionOf(newest.find(1, key('b'))), 1)
})
