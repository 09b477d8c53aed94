/** Tests of LIKE: the two-pointer matcher against a simple one, and its speed on hard patterns. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../test/support/property.ts'
import { machine } from '../../base/clock.ts'
import { compileLike } from './like.ts'

/** Tries every way in which a `%` could match. */
function matchesByTrying(text: readonly string[], pattern: readonly string[]): boolean {
  const [first, ...rest] = pattern
  if (first === undefined) return text.length === 0
  if (first === '%') return text.some((_, at) => matchesByTrying(text.slice(at), rest)) || matchesByTrying([], rest)
  return text.length > 0 && (first === '_' || first === text[0]) && matchesByTrying(text.slice(1), rest)
}

test('it matches the same texts as trying every way', () => {
  const letters = fc.array(fc.constantFrom('a', 'b', '😀'), { maxLength: 8 })
  const pattern = fc.array(fc.constantFrom('a', 'b', '😀', '%', '_'), { maxLength: 6 })
  fc.assert(
    fc.property(letters, pattern, (text, parts) => {
      assert.equal(compileLike(parts.join(''), undefined)(text.join('')), matchesByTrying(text, parts))
    }),
    { numRuns: 3000 },
  )
})

test('many wildcards do not make it slow', () => {
  const start = machine.monotonicMs()
  const matches = compileLike(`${'%a'.repeat(50)}%b`, undefined)
  assert.equal(matches('a'.repeat(20_000)), false)
  assert.ok(machine.monotonicMs() - start < 500)
})

test('a set has ranges, single characters and negation', () => {
  const matches = (text: string, pattern: string) => compileLike(pattern, undefined)(text)
  assert.ok(matches('x5', '[xyz][0-9]'))
  assert.ok(!matches('x5', '[^xyz][0-9]'))
  assert.ok(matches('-', '[a-]'))
  assert.ok(!matches('', '[a]'))
})

test('the escape character makes the next one literal', () => {
  assert.ok(compileLike('100!%', '!')('100%'))
  assert.ok(!compileLike('100!%', '!')('1000'))
  assert.ok(compileLike('a!!b', '!')('a!b'))
  assert.ok(compileLike('ab!', '!')('ab!'))
})
