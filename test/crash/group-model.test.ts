/** Tests the model of groups: it refuses what a broken server would leave, and accepts what may happen. */

import assert from 'node:assert/strict'
import { beforeEach, test } from 'node:test'
import { Group, type GroupWrite } from './group-model.ts'
import { Timeline } from './timeline.ts'
import { Violation } from './violation.ts'

const start = 1000
let timeline: Timeline
let group: Group

beforeEach(() => {
  timeline = new Timeline(start)
  timeline.addContainer('a', -1)
  timeline.addContainer('b', -1)
  group = new Group(timeline, [
    { container: 'a', id: '1' },
    { container: 'b', id: '2' },
  ])
})

function write(serial: string | undefined, options: Partial<GroupWrite> = {}): GroupWrite {
  return { serial, ttl: undefined, isAtomic: true, mayHappen: true, ...options }
}

function written(serial: string, ttl?: number): void {
  group.begin(write(serial, { ttl }))
  group.finish(true)
}

function advance(to: number): void {
  timeline.begin({ kind: 'clock', to })
  timeline.acknowledge()
}

test('half of a transaction is refused, all of it and nothing of it are accepted', () => {
  written('1')
  group.begin(write('2'))
  assert.throws(() => group.settle(['2', '1']), Violation)
  assert.equal(group.settle(['2', '2']), true)
  group.begin(write('3'))
  assert.equal(group.settle(['2', '2']), false)
})

test('writes that need not happen together may stop between two members', () => {
  written('1')
  group.begin(write('2', { isAtomic: false }))
  assert.equal(group.settle(['2', '1']), true)
})

test('a write that was answered must be there, and nothing else may', () => {
  written('1')
  assert.throws(() => group.settle([undefined, undefined]), Violation)
  assert.throws(() => group.settle(['0', '0']), Violation)
})

test('what was refused, taken back or never committed must not be there', () => {
  written('1')
  group.begin(write('2', { mayHappen: false }))
  assert.throws(() => group.settle(['2', '2']), Violation)
  group.settle(['1', '1'])
  group.begin(write('3'))
  group.finish(false)
  assert.throws(() => group.settle(['3', '3']), Violation)
})

test('members die by the policies of their containers, not before and not after their second', () => {
  timeline.begin({ kind: 'default', container: 'a', to: 10 })
  timeline.acknowledge()
  written('1')
  advance(start + 9)
  assert.throws(() => group.settle([undefined, '1']), Violation)
  advance(start + 10)
  assert.throws(() => group.settle(['1', '1']), Violation)
  group.settle([undefined, '1'])
})

test('a delete under way took all members or none', () => {
  written('1')
  group.begin(write(undefined))
  assert.throws(() => group.settle([undefined, '1']), Violation)
  group.settle([undefined, undefined])
  assert.throws(() => group.settle(['1', '1']), Violation)
})
