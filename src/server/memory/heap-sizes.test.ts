import assert from 'node:assert/strict'
import { test } from 'node:test'
import { getHeapSpaceStatistics } from 'node:v8'
import { MiB } from '../../base/limits.ts'
import { smallHeaps } from './heap-sizes.ts'

/** Makes garbage of which much survives for a while. Returns the size of the young generation. */
function youngBytesAfterWork(): number {
  let kept: object[] = []
  for (let n = 0; n < 2_000_000; n++) {
    kept.push({ n })
    if (kept.length > 200_000) kept = []
  }
  return getHeapSpaceStatistics().find(({ space_name: name }) => name === 'new_space')!.space_size
}

test('the young generation stays small as long as somebody wants it, and grows afterwards', () => {
  {
    using _ = smallHeaps()
    smallHeaps()[Symbol.dispose]()
    assert.ok(youngBytesAfterWork() <= 16 * MiB)
    assert.ok(youngBytesAfterWork() <= 16 * MiB)
  }
  let grownBytes = 0
  for (let n = 0; n < 20 && grownBytes <= 16 * MiB; n++) grownBytes = youngBytesAfterWork()
  assert.ok(grownBytes > 16 * MiB)
})
