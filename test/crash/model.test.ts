/**
 * Tests the model itself: it refuses answers of a broken server and accepts those of a correct one.
 */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import type { Reply } from './client.ts'
import { type Attempt, ItemModel } from './item-model.ts'
import { Timeline } from './timeline.ts'
import { Versions } from './versions.ts'
import { Violation } from './violation.ts'

const start = 1000
let timeline: Timeline
let model: ItemModel

beforeEach(() => {
  timeline = new Timeline(start)
  timeline.addContainer('c', -1)
  model = new ItemModel(timeline, 'c', ['a'])
})

function attempt(kind: Attempt['kind'], serial = '', ttl?: number): Attempt {
  const isWrite = kind !== 'read' && kind !== 'delete'
  return { kind, id: 'a', text: isWrite ? JSON.stringify({ id: 'a', serial, ttl }) : '', ttl }
}

interface Stored {
  readonly version: number
  readonly ts: number
  readonly rid?: string
  readonly status?: number
}

function stored({ text }: Attempt, { version, ts, rid = 'r', status = 200 }: Stored): Reply {
  const etag = `"00000000-0000-0000-0000-${version.toString(16).padStart(12, '0')}"`
  const system = JSON.stringify({ _rid: rid, _etag: etag, _ts: ts })
  return { status, text: `${text.slice(0, -1)},${system.slice(1)}`, lsn: version }
}

const missing: Reply = { status: 404, text: '{}', lsn: undefined }

function written(kind: Attempt['kind'], serial: string, version: number, ttl?: number): Reply {
  const sent = attempt(kind, serial, ttl)
  const reply = stored(sent, { version, ts: timeline.now, status: 201 })
  model.begin(sent)
  model.finish('a', reply)
  return { ...reply, status: 200 }
}

function advance(to: number): void {
  timeline.begin({ kind: 'clock', to })
  timeline.acknowledge()
}

function changeDefault(to: number | null): void {
  timeline.begin({ kind: 'default', container: 'c', to })
  timeline.acknowledge()
}

test('an acknowledged item that is missing after a restart is a loss', () => {
  written('create', '1', 1)
  assert.throws(() => model.settle('a', missing), /an acknowledged item that is alive is lost/)
})

test('an item may be gone after a restart when its deadline has come, and not a second earlier', () => {
  written('create', '1', 1, 20)
  advance(start + 19)
  assert.throws(() => model.settle('a', missing), Violation)
  advance(start + 20)
  assert.equal(model.settle('a', missing).isAlive, false)
})

test('an item that died before the crash and is visible after it is a revival', () => {
  const reply = written('create', '1', 1, 20)
  advance(start + 20)
  assert.throws(() => model.settle('a', reply), /a dead item is back/)
})

test('a longer default does not excuse a revival', () => {
  const reply = written('create', '1', 1)
  changeDefault(5)
  advance(start + 5)
  changeDefault(null)
  assert.throws(() => model.settle('a', reply), /a dead item is back/)
})

test('a write under way at the crash may have happened or not, and nothing else may', () => {
  const before = written('create', '1', 1)
  const under = attempt('upsert', '2')
  const outcomes = [
    { reply: before, isRight: true },
    { reply: stored(under, { version: 2, ts: start }), isRight: true },
    { reply: stored(under, { version: 2, ts: start, rid: 'other' }), isRight: false },
    { reply: stored(under, { version: 1, ts: start + 1 }), isRight: false },
    { reply: stored(attempt('upsert', '3'), { version: 2, ts: start }), isRight: false },
    { reply: missing, isRight: false },
  ]
  for (const { reply, isRight } of outcomes) {
    model = new ItemModel(timeline, 'c', ['a'])
    written('create', '1', 1)
    model.begin(under)
    if (isRight) assert.equal(model.settle('a', reply).isAlive, true)
    else assert.throws(() => model.settle('a', reply), Violation, reply.text)
  }
})

test('a delete under way may have happened; a read under way explains no missing item', () => {
  written('create', '1', 1)
  model.begin(attempt('read'))
  assert.throws(() => model.settle('a', missing), Violation)
  model.begin(attempt('delete'))
  assert.equal(model.settle('a', missing).hasHappened, true)
})

test('a death that was seen is final, even if the clock step that caused it was never acknowledged', () => {
  const reply = written('create', '1', 1, 20)
  timeline.begin({ kind: 'clock', to: start + 20 })
  model.begin(attempt('read'))
  model.finish('a', missing)
  timeline.abandon()
  assert.throws(() => model.settle('a', reply), Violation)
})

test('a living item must be found, and a dead one must not', () => {
  written('create', '1', 1, 20)
  model.begin(attempt('read'))
  assert.throws(() => model.finish('a', missing), /did not find an item that is alive/)
  advance(start + 20)
  model.begin(attempt('delete'))
  assert.throws(() => model.finish('a', { status: 204, text: '', lsn: 2 }), /found an item that is gone/)
})

test('after a restart the clock is at its acknowledged time or at the time of the move under way', () => {
  timeline.begin({ kind: 'clock', to: start + 10 })
  assert.throws(() => timeline.settleClock(start - 1), /went back/)
  assert.throws(() => timeline.settleClock(start + 5), /nobody moved it/)
  timeline.settleClock(start + 10)
  assert.equal(timeline.now, start + 10)
})

test('a default that nobody set is refused', () => {
  timeline.begin({ kind: 'default', container: 'c', to: 7 })
  assert.throws(() => timeline.settleDefault('c', 8), Violation)
  timeline.settleDefault('c', 7)
})

test('each version is used once, and after a restart only newer ones', () => {
  const versions = new Versions()
  versions.give(2)
  versions.give(1)
  assert.throws(() => versions.give(2), /given twice/)
  versions.raiseFloor()
  assert.throws(() => versions.give(2), /after a restart/)
  versions.give(3)
})
