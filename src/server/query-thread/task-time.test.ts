/** Tests of the time that a thread has been running. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ownTask, ranMs } from './task-time.ts'

const isLinux = process.platform === 'linux'

test('a thread that works has run for about as long as it used its core', { skip: !isLinux && 'needs Linux' }, () => {
  const task = ownTask()
  const beforeMs = ranMs(task)!
  const { user, system } = process.cpuUsage()
  for (let used = 0; used < 100_000; ) {
    for (let n = 0; n < 10_000; n++) Math.sqrt(n)
    const now = process.cpuUsage()
    used = now.user + now.system - user - system
  }
  const workedMs = ranMs(task)! - beforeMs
  assert.ok(workedMs > 0 && workedMs <= 200, `${workedMs} ms`)
})

test('nobody can tell for a thread that is not there', () => {
  assert.equal(ranMs(undefined), undefined)
  assert.equal(ranMs(999_999_999), undefined)
})
