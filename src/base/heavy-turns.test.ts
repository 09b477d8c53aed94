/** Tests that small work is read, committed and answered between two pieces of heavy work. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { machine } from './clock.ts'
import { heavyTurnFor, inHeavyTurn, isHeavyWorkWaiting } from './heavy-turns.ts'

const turn = () => new Promise<void>(resolve => machine.setImmediate(resolve))

test('a request that arrives during a piece is committed and answered before the next piece', async () => {
  const events: string[] = []
  const piece = (name: string) =>
    heavyTurnFor(() => {
      events.push(name)
      // As requests: one turn until it is read, one for its commit, one for its answer.
      machine.setImmediate(() => {
        events.push('committed')
        machine.setImmediate(() => events.push('answered'))
      })
    }, events)
  await Promise.all([piece('first'), piece('second')])
  for (let n = 0; n < 3; n++) await turn()
  assert.deepEqual(events, ['first', 'committed', 'answered', 'second', 'committed', 'answered'])
})

test('it is known whether a piece waits', async () => {
  const done: number[] = []
  const pieces = [0, 1, 2].map(n => new Promise<void>(resolve => inHeavyTurn(() => resolve(void done.push(n)))))
  const seen: boolean[] = []
  while (done.length < 3) {
    seen.push(isHeavyWorkWaiting())
    await turn()
  }
  await Promise.all(pieces)
  assert.ok(seen.every(each => each))
  assert.equal(isHeavyWorkWaiting(), false)
  assert.deepEqual(done, [0, 1, 2])
})

test('connections take turns, and the store as well', async () => {
  // Until the pieces of other tests are over.
  for (let n = 0; n < 3; n++) await turn()
  const [many, one] = [{}, {}]
  const done: string[] = []
  const pieces = [0, 1, 2, 3].map(n => heavyTurnFor(() => void done.push(`many ${n}`), many))
  const stored = new Promise<void>(resolve => inHeavyTurn(() => resolve(void done.push('stored'))))
  const last = heavyTurnFor(() => void done.push('one'), one)
  await Promise.all([...pieces, stored, last])
  assert.deepEqual(done, ['many 0', 'many 1', 'stored', 'one', 'many 2', 'many 3'])
})
