/** Tests of text search: the same results as the engine's own, also where those would take minutes. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { indexOf, indexOfBytes, lastIndexOf, searchProductMax, split } from './text-search.ts'

/** Few letters, so that parts occur and overlap; padded beyond the size that the engine may search. */
const word = fc.string({ unit: fc.constantFrom('a', 'b', '\ud83d\ude00'), maxLength: 12 })
const padding = 'c'.repeat(Math.ceil(Math.sqrt(searchProductMax)))

describe('a search over long texts gives the same as the engine', () => {
  const holds = (name: string, law: (text: string, part: string, from: number) => void) =>
    test(name, () => {
      const property = fc.property(word, word, fc.nat(20), fc.boolean(), (text, end, from, isThere) => {
        const part = padding + end
        law(text + (isThere ? part : `${padding}d`) + text + part, part, from)
      })
      fc.assert(property, { numRuns: 40 })
    })
  holds('indexOf', (text, part, from) => assert.equal(indexOf(text, part, from), text.indexOf(part, from)))
  holds('lastIndexOf', (text, part, from) => {
    assert.equal(lastIndexOf(text, part), text.lastIndexOf(part))
    assert.equal(lastIndexOf(text, part, from), text.lastIndexOf(part, from))
  })
  holds('indexOfBytes', (text, part, from) => {
    const [bytes, partBytes] = [Buffer.from(text), Buffer.from(part)]
    assert.equal(indexOfBytes(bytes, partBytes, from), bytes.indexOf(partBytes, from))
  })
  holds('split', (text, part) => {
    assert.deepEqual(split(text, part), text.split(part))
    assert.deepEqual(split(text, part, 2), text.split(part, 2))
  })
})

test('a similar text that does not occur is not found', () => {
  const text = 'a'.repeat(2_000_000)
  const part = `${'a'.repeat(500_000)}b${'a'.repeat(500_000)}`
  assert.equal(indexOf(text, part), -1)
  assert.equal(indexOfBytes(Buffer.from(text), Buffer.from(part)), -1)
  assert.equal(lastIndexOf(text, part), -1)
  assert.deepEqual(split(text, part).length, 1)
  assert.equal(indexOf(`${text}b${text}`, part), 1_500_000)
})

test('an empty part, and one longer than the text, work as in the engine', () => {
  for (const [text, part] of [
    ['abc', ''],
    ['', 'abc'],
    ['', ''],
  ] as const) {
    assert.equal(indexOf(text, part, 1), text.indexOf(part, 1))
    assert.equal(lastIndexOf(text, part, 1), text.lastIndexOf(part, 1))
  }
})
