/** Tests of what the answers of the function that writes are read as. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { parseRow } from './write-call.ts'

test('a row is read as PostgreSQL prints it', () => {
  const policy = { defaultTtl: null, inheritedDeadAt: -1, ownDeadAt: 0 }
  assert.deepEqual(parseRow('(done,1000,,-1,0,c,{65},{65})'), {
    ...{ verdict: 'done', moment: 1000, policy, outcomes: 'c', sequences: [65], versions: [65] },
  })
  assert.deepEqual(parseRow('(done,1000,60,-1,0,mr,"{NULL,65}","{65,129}")'), {
    ...{ verdict: 'done', moment: 1000, policy: { ...policy, defaultTtl: 60 }, outcomes: 'mr' },
    ...{ sequences: [null, 65], versions: [65, 129] },
  })
})

test('a call that wrote nothing says no more than why', () => {
  const { verdict, outcomes, sequences } = parseRow('(gone,,,,,,,)')
  assert.deepEqual([verdict, outcomes, sequences], ['gone', '', []])
  assert.equal(parseRow('(stale,1000,-1,0,0,,,)').verdict, 'stale')
  assert.throws(() => parseRow('(done,1000)'), { name: 'InvariantError' })
})
