/** Tests of the writes that the next commit takes. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { heavyBytesMin } from '../../base/heavy-turns.ts'
import { commitBytesMax, groupWritesMax } from '../../base/limits.ts'
import { type NewWrite, WaitingWrites, type WriteGroup } from './waiting-writes.ts'

function write(bytes: number, steps = 1): NewWrite {
  return { work: () => undefined, freesRoom: false, steps, bytes, resolve: () => {}, reject: () => {} }
}

function filled(...writes: readonly NewWrite[]): WaitingWrites {
  const waiting = new WaitingWrites()
  for (const each of writes) waiting.add(each)
  return waiting
}

const bytesOf = (group: WriteGroup) => group.map(({ bytes }) => bytes)

test('a small write does not wait for large ones that came before it', () => {
  const waiting = filled(write(heavyBytesMin), write(1, 100), write(10))
  assert.deepEqual([waiting.smallCount, waiting.largeCount], [1, 2])
  assert.deepEqual(bytesOf(waiting.takeSmall()), [10])
  assert.deepEqual(bytesOf(waiting.takeLarge()), [heavyBytesMin, 1])
})

test('a commit takes so many bytes and steps, but one write at least', () => {
  const half = commitBytesMax / 2
  const large = filled(write(3 * half), write(half), write(half), write(half))
  assert.deepEqual([large.takeLarge(), large.takeLarge(), large.takeLarge(), large.takeLarge()].map(bytesOf), [
    [3 * half],
    [half, half],
    [half],
    [],
  ])
  const small = filled(...Array.from({ length: groupWritesMax + 1 }, () => write(1)))
  assert.deepEqual([small.takeSmall().length, small.takeSmall().length], [groupWritesMax, 1])
})

test('when many small writes wait, writes of some kilobytes count as large, until some were taken', () => {
  const waiting = filled(...Array.from({ length: 20 }, () => write(20_000)), write(1000))
  assert.ok(waiting.largeCount > 0)
  const before = waiting.largeCount
  const taken = waiting.takeSmall()
  waiting.putBack(taken.slice(1))
  waiting.add(write(20_000))
  assert.equal(waiting.largeCount, before)
  assert.deepEqual(bytesOf(waiting.takeSmall()), [...bytesOf(taken.slice(1)), 20_000])
})

test('a write that had to be undone has a commit of its own', () => {
  const waiting = filled(write(1), write(2), write(3))
  const group = waiting.takeSmall()
  group[1]!.isAlone = true
  waiting.putBack(group)
  assert.deepEqual([waiting.takeSmall(), waiting.takeSmall(), waiting.takeSmall()].map(bytesOf), [[1], [2], [3]])
})
