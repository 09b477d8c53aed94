/** A part of the campaign (`npm run faults`): calls of a fixed script fail, and the power goes. */

import assert from 'node:assert/strict'
import { rmSync } from 'node:fs'
import { after, test } from 'node:test'
import { failEachCall } from './faults.ts'
import { losePower } from './power-loss.ts'
import { compileShim, scratch } from './shim.ts'

const directory = scratch('mayfly-shim-')
after(() => rmSync(directory, { recursive: true }))
const library = compileShim(directory)
const skip = library === undefined && 'needs Linux and a C compiler'

test('a call that fails loses nothing that was acknowledged', { skip }, () => {
  const { ends } = failEachCall(library!, 53)
  assert.ok(ends.done! > 0, JSON.stringify(ends))
})

test('a sync that fails is not made good by the next one, here or in the thread for checkpoints', { skip }, () => {
  const { drops } = failEachCall(library!, 7, ['EIO'])
  assert.ok(drops > 10, `${drops}`)
})

test('what was acknowledged is there when the power has gone', { skip }, () => {
  const { losses, firstLoss } = losePower(library!, 'FULL', { seed: 1, every: 11, imagesPerCut: 2 })
  assert.equal(losses, 0, firstLoss)
})

test('control: without an fsync at each commit the same test finds losses', { skip }, () => {
  const { losses } = losePower(library!, 'NORMAL', { seed: 1, every: 23, imagesPerCut: 1 })
  assert.ok(losses > 0)
})
