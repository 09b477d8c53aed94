import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container } from '../../api/shapes.ts'
import { withLiveCounts } from './counts.ts'

test('no group has more than live: a count that was asked is older than the live one', () => {
  const container = { living: 1, dead: 2, isAbout: false } as Container
  const asked = { all: 3, minute: 2, dead: 0, never: 1, isAbout: false }
  assert.deepEqual(withLiveCounts(asked, container, '', undefined), { ...asked, all: 1, minute: 1, dead: 2 })
  assert.equal(withLiveCounts(asked, { ...container, living: 0 }, '', 5)?.minute, 0)
  assert.equal(withLiveCounts(asked, container, 'c.n > 1', undefined), asked)
})
