import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { depthOf, memberTexts } from './json-text.ts'

const deep = 128

test('the value of a member is cut out of every object as it was written', () => {
  const text = ' [ {"a":1, "body" : {"b":[1.50,{"body":2}]} },{"body":"x,}\\"]"},\n{}, {"body":[[ ]]}]'
  assert.deepEqual(memberTexts(text, 'body', deep), [' {"b":[1.50,{"body":2}]} ', '"x,}\\"]"', undefined, '[[ ]]'])
})

test('of a name that stands twice the last one counts, however it is written', () => {
  assert.deepEqual(memberTexts('[{"body":1,"b\\u006fdy":2,"b\\u006fdi":3}]', 'body', deep), ['2'])
})

test('text with more levels than allowed has no members', () => {
  assert.deepEqual(memberTexts('[{"body":[[0]]}]', 'body', 4), ['[[0]]'])
  assert.equal(memberTexts('[{"body":[[0]]}]', 'body', 3), undefined)
})

const name = fc.oneof(
  fc.constant('body'),
  fc.string({ unit: fc.constantFrom('"', '\\', ',', '}', ']', ':', 'b', 'é') }),
)
const objects = fc.array(fc.dictionary(name, fc.jsonValue({ maxDepth: 4 }), { maxKeys: 4 }), { maxLength: 4 })

test('what is cut out parses to what the whole text parses to', () => {
  fc.assert(
    fc.property(objects, fc.constantFrom(undefined, 1, '\t'), (list, space) => {
      const text = JSON.stringify(list, undefined, space)
      const parsed = JSON.parse(text) as Record<string, unknown>[]
      const texts = memberTexts(text, 'body', depthOf(text, deep))!
      assert.equal(texts.length, parsed.length)
      for (const [at, { body }] of parsed.entries()) {
        assert.equal(texts[at] === undefined, body === undefined)
        if (body !== undefined) assert.deepEqual(JSON.parse(texts[at]!), body)
      }
    }),
  )
})
