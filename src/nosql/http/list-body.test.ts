import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { KiB } from '../../base/limits.ts'
import { withoutTurns } from '../../base/steps.ts'
import { bytesInSteps, charsOf, joined } from './list-body.ts'

const text = fc.oneof(
  fc.constantFrom('', 'x'.repeat(9000), 'é', '日', '😀', '\ud800', 'x'.repeat(9000).concat('日')),
  fc.string({ unit: 'binary', maxLength: 5 }),
)

test('the bytes of a list equal its text, wherever non-ASCII text is', () => {
  fc.assert(
    fc.property(text, fc.array(text), text, (before, elements, after) => {
      const list = { before, elements, after }
      assert.equal(charsOf(list), joined(list).length)
      assert.deepEqual(Buffer.from(withoutTurns(bytesInSteps(list))), Buffer.from(joined(list)))
    }),
    { numRuns: 2000 },
  )
})

test('a large text is written in many small steps, and no character is cut', () => {
  const large = [...Array(5).keys()].map(n => `${'x'.repeat(n)}${'😀'.repeat(256 * KiB)}`)
  for (const list of [
    { before: 'x'.repeat(4096 * KiB), elements: [], after: '' },
    { before: '[', elements: [large[0]!, 'x'.repeat(512 * KiB), large[1]!], after: ']' },
    { before: large[2]!, elements: large.slice(3), after: '' },
  ]) {
    const steps = bytesInSteps(list)
    let count = 0
    let step = steps.next()
    for (; step.done !== true; step = steps.next()) count++
    assert.equal(step.value.toString(), joined(list))
    assert.ok(count >= charsOf(list) / (128 * KiB), `${count} steps`)
  }
})
