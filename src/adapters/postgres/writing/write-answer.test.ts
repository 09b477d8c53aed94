/** Tests of how the answers of the function that writes are parsed. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseAnswer, parseRefusal, refusalOf } from './write-answer.ts'

test('a row is read as PostgreSQL prints it', () => {
  const policy = { defaultTtl: null, inheritedDeadAt: -1, ownDeadAt: 0 }
  assert.deepEqual(parseAnswer('(done,1000,,-1,0,c,{65},{65},)'), {
    ...{ kind: 'written', moment: 1000, policy, outcomes: ['created'], sequences: [65], versions: [65] },
    tick: 0,
  })
  assert.deepEqual(parseAnswer('(done,1000,60,-1,0,mr,"{NULL,65}","{65,129}",7)'), {
    ...{ kind: 'written', moment: 1000, policy: { ...policy, defaultTtl: 60 }, outcomes: ['missing', 'replaced'] },
    ...{ sequences: [null, 65], versions: [65, 129], tick: 7 },
  })
})

test('a call that wrote nothing says no more than why', () => {
  assert.deepEqual(parseAnswer('(gone,,,,,,,,)'), { kind: 'gone' })
  assert.deepEqual(parseAnswer('(stale,1000,-1,0,0,,,,)'), { kind: 'stale' })
  assert.deepEqual(parseAnswer('(moved,1000,-1,0,0,,,,)'), { kind: 'moved' })
  for (const row of ['(done,1000)', '(later,,,,,,,,)', '(done,1000,,-1,0,q,{65},{65},)']) {
    assert.throws(() => parseAnswer(row), { name: 'InvariantError' })
  }
})

test('an error says why nothing was written, or which write was refused', () => {
  for (const kind of ['gone', 'stale', 'moved', 'late']) assert.deepEqual(parseRefusal(kind), { kind })
  assert.deepEqual(parseRefusal('12 63 2 x'), {
    ...{ kind: 'refused-write', container: 12, bucket: 63, place: 1, outcome: 'conflict' },
  })
  for (const detail of ['', 'done', '12 63 2', '12 63 2 q']) {
    assert.throws(() => parseRefusal(detail), { name: 'InvariantError' })
  }
})

test('other errors are no refusals', () => {
  assert.equal(refusalOf(new Error('moved')), undefined)
  assert.equal(refusalOf(Object.assign(new Error('refused'), { code: '23505', detail: 'moved' })), undefined)
  const refused = Object.assign(new Error('refused'), { code: 'MF001', detail: 'moved' })
  assert.deepEqual(refusalOf(refused), { kind: 'moved' })
})
