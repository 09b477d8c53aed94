import assert from 'node:assert/strict'
import { test } from 'node:test'
import { hasDead, hasDeadOf } from './any-dead.ts'

const living = { inheritedAfter: 100, ownAfter: 200 }

test('a container has dead items when the oldest row of either lifespan is at or before its threshold', () => {
  const cases: [inherited: number | null, own: number | null, inheritedDead: boolean, ownDead: boolean][] = [
    [null, null, false, false],
    [101, 201, false, false],
    [100, 201, true, false],
    [101, 200, false, true],
    [null, 199, false, true],
    [99, null, true, false],
  ]
  for (const [earliestInherited, earliestOwn, inheritedDead, ownDead] of cases) {
    const census = { earliestInherited, earliestOwn }
    assert.equal(hasDeadOf('inherited', census, living), inheritedDead)
    assert.equal(hasDeadOf('own', census, living), ownDead)
    assert.equal(hasDead(census, living), inheritedDead || ownDead)
  }
})
