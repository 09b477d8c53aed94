/** Tests of work that is cut. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { HoldWatch, spend, WorkTooLong, type WorkWatch, watched } from './work.ts'

function endingAfter(looks: number): WorkWatch {
  let left = looks
  return {
    turn: () => {},
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
  assert.ok(done > 1000 && done < 3000, `${done} steps`)
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

test('a slice that has held its thread for too long is to be done elsewhere; a new slice has new time', () => {
  const hold = new HoldWatch(20)
  hold.look()
  const none = new HoldWatch(-1)
  assert.throws(() => none.look(), WorkTooLong)
  none.turn()
  assert.throws(() => none.look(), WorkTooLong)
})
