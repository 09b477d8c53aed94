import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from '../base/clock.ts'
import { OneAtATime } from './one-at-a-time.ts'

test('works run one after the other, in turns of their own, also after a failure', async () => {
  const works = new OneAtATime()
  let running = 0
  let turn = 0
  const turns = new Set<number>()
  const work = async (at: number) => {
    assert.equal(running++, 0)
    turns.add(turn)
    machine.setImmediate(() => turn++)
    await Promise.resolve()
    running--
    if (at === 1) throw new Error('fails')
    return at
  }
  const ended = await Promise.allSettled([0, 1, 2, 3].map(at => works.do(() => work(at))))
  assert.deepEqual(
    ended.map(({ status }) => status),
    ['fulfilled', 'rejected', 'fulfilled', 'fulfilled'],
  )
  assert.equal(turns.size, 4)
})
