import assert from 'node:assert/strict'
import { test } from 'node:test'
import { msToNextLook } from './hub.ts'

test('a look comes just behind each whole second and each half of one, whenever the last one was', () => {
  for (const nowMs of [1_794_750_680_000, 1_794_750_680_123, 1_794_750_680_499, 1_794_750_680_501.5, 0]) {
    const waitMs = msToNextLook(nowMs)
    assert.ok(waitMs > 1 && waitMs <= 501, `${waitMs}`)
    assert.equal((nowMs + waitMs) % 500, 1)
  }
})
