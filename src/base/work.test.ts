/** Tests of work that is cut. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from './clock.ts'
import { HoldWatch, spend, WorkTooLong, type WorkWatch, watched } from './work.ts'

function endingAfter(looks: number): WorkWatch {
  let left = looks
  return {
    look: () => {
      if (left-- === 0) throw new Error('over')
    },
  }
}

test('work is cut in the middle, after as many looks as its watch allows', () => {
  let done = 0
  const work = () => {
    for (; done < 1_000_000; done++) spend(1)
  }
  assert.throws(() => watched(endingAfter(3), work), { message: 'over' })
  assert.ok(done >= 1500 && done <= 2000, `${done} steps`)
})

test('one large step is looked at', () => {
  assert.throws(() => watched(endingAfter(0), () => spend(1e9)), { message: 'over' })
})

test('work without a watch goes on, also inside of work that has one', () => {
  const long = () => {
    for (let at = 0; at < 100_000; at++) spend(1)
    return 'done'
  }
  assert.equal(long(), 'done')
  assert.equal(
    watched(endingAfter(0), () => watched(undefined, long)),
    'done',
  )
})

test('a watch is taken off when its work ends, also with an error', () => {
  assert.throws(() => watched(endingAfter(0), () => spend(1e9)))
  spend(1e9)
  watched(endingAfter(1), () => {
    watched(endingAfter(5), () => spend(1e9))
    spend(1e9)
    assert.throws(() => spend(1e9), { message: 'over' })
  })
})

test('a watch also sees what its work does after waiting, and nobody else', async () => {
  const turn = () => new Promise<void>(resolve => machine.setImmediate(resolve))
  async function* twice() {
    for (let at = 0; at < 2; at++) {
      await turn()
      spend(1e9)
      yield at
    }
  }
  const work = async () => {
    let seen = 0
    for await (const _ of twice()) seen++
    return seen
  }
  const [some, all, unwatched] = await Promise.allSettled([
    watched(endingAfter(1), work),
    watched(endingAfter(2), work),
    work(),
  ])
  assert.equal(some.status === 'rejected' && some.reason.message, 'over')
  assert.deepEqual([all, unwatched], Array(2).fill({ status: 'fulfilled', value: 2 }))
})

test('a turn that has held its thread for too long ends; the next turn has new time', async () => {
  const hold = new HoldWatch(1e-6)
  for (let turn = 0; turn < 2; turn++) {
    hold.look(0)
    assert.throws(() => hold.look(0), WorkTooLong)
    await new Promise<void>(resolve => machine.setImmediate(resolve))
  }
})

test('work that is surely too long is not begun', () => {
  const hold = new HoldWatch(4)
  assert.throws(() => watched(hold, () => spend(1_000_000)), WorkTooLong)
  watched(hold, () => spend(10_000))
})
