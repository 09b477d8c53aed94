/** Jobs: what they refused is kept within one bound for all of them. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Jobs, refusalBytesMax } from './jobs.ts'

test('the refused rows of all jobs together have one bound, and those of older jobs go first', () => {
  const jobs = new Jobs()
  const text = 'x'.repeat(refusalBytesMax / 4)
  const begin = (id: string) => jobs.begin('import', 'shop', 'carts', id)
  const [first, running] = [begin('first'), begin('running')]
  for (const job of [first, running]) for (let line = 1; line <= 2; line++) job.refuse({ line, message: '', text })
  assert.deepEqual([first.refusals.length, running.refusals.length], [2, 1])
  running.refuse({ line: 3, message: '', text })
  assert.equal(running.refusals.length, 1, 'a job that runs takes nothing from another that runs')
  first.end()
  running.refuse({ line: 4, message: '', text })
  assert.deepEqual([first.refusals.length, running.refusals.length], [0, 2])
  assert.equal((running.show() as { refused: number }).refused, 4, 'all are counted')
})
