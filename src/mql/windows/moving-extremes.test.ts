/** Tests of the set of a window that moves: a value is shown as long as a document of the window has it. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Origin } from '../../document/bson/origin.ts'
import { withOrigin } from '../../document/bson/traced-values.ts'
import { type BsonArray, string, type Value } from '../../document/bson/value.ts'
import { MovingSet } from './moving-extremes.ts'

const from = (sequence: number, deadline: number): Origin => ({
  container: 1,
  sequence,
  writtenAt: -1,
  deadline,
  and: undefined,
})
const mortal = (text: string, sequence: number, deadline: number) => withOrigin(string(text), from(sequence, deadline))
const shownBy = (set: MovingSet): readonly Value[] => (set.result() as BsonArray).elements

test('a value lives as long as the documents of the window that have it, not those that have left', () => {
  const set = new MovingSet(undefined)
  const deadlines = [50, 10, 30, 20, 5]
  const values = deadlines.map((deadline, sequence) => mortal('x', sequence, deadline))
  const entered: number[] = []
  for (const [at, value] of values.entries()) {
    set.enter(value)
    entered.push(deadlines[at]!)
    assert.equal(shownBy(set)[0]!.origin!.deadline, Math.max(...entered))
    if (at < 2) continue
    set.leave(values[at - 2])
    entered.shift()
    assert.equal(shownBy(set)[0]!.origin!.deadline, Math.max(...entered))
  }
  set.leave(values[3])
  assert.equal(shownBy(set)[0]!.origin!.deadline, 5)
  set.leave(values[4])
  assert.deepEqual(shownBy(set), [])
})

test('a value whose life nobody knows stays', () => {
  const set = new MovingSet(undefined)
  const known = mortal('x', 1, 10)
  set.enter(known)
  set.enter(string('x'))
  assert.equal(shownBy(set)[0]!.origin, undefined)
  set.leave(known)
  assert.equal(shownBy(set)[0]!.origin, undefined)
})
