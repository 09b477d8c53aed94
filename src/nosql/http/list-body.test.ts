import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { listBody } from './list-body.ts'

test('a short list stays text and a long one becomes bytes', () => {
  assert.equal(listBody('[', ['1', '2'], ']'), '[1,2]')
  const long = listBody('[', ['1', `"${'x'.repeat(20_000)}"`], ']')
  assert.ok(Buffer.isBuffer(long))
  assert.equal(String(long), `[1,"${'x'.repeat(20_000)}"]`)
})

const text = fc.oneof(
  fc.constantFrom('', 'x'.repeat(9000), 'é', '日', '😀', '\ud800', 'x'.repeat(9000).concat('日')),
  fc.string({ unit: 'binary', maxLength: 5 }),
)

test('the bytes of a list equal its text, wherever non-ASCII text is', () => {
  fc.assert(
    fc.property(text, fc.array(text), text, (before, elements, after) => {
      const expected = Buffer.from(`${before}${elements.join(',')}${after}`)
      assert.deepEqual(Buffer.from(listBody(before, elements, after)), expected)
    }),
    { numRuns: 2000 },
  )
})
