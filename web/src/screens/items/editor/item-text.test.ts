import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../../../../test/support/property.ts'
import { checkItemText, newItemText, ownTtl } from './item-text.ts'
import { jsonMistake } from './json-scan.ts'

const messages = (text: string, api: 'nosql' | 'mongo' = 'nosql') =>
  checkItemText(text, api).map(({ message }) => message)

test('what is no JSON is shown where it stops', () => {
  const text = '{\n  "id": "a",\n  "b": }\n'
  const [problem] = checkItemText(text, 'nosql')
  assert.equal(text.slice(problem!.from, problem!.from + 1), '}')
  assert.match(problem!.message, /^Not JSON: /)
  assert.equal(checkItemText('{"id": "a"', 'nosql').length, 1)
  assert.deepEqual(messages('{"id": "a",}'), ['Not JSON: remove this comma: nothing follows it.'])
  assert.equal(checkItemText('', 'nosql').length, 1)
})

test('a ttl that is none is refused at its name; Mongo only warns', () => {
  for (const ttl of ['0', '-2', '1.5', '"60"', '2147483648']) {
    const text = `{"id": "a", "ttl": ${ttl}}`
    const [problem] = checkItemText(text, 'nosql')
    assert.equal(text.slice(problem?.from, problem?.to), '"ttl"', ttl)
    assert.equal(problem?.severity, 'error')
    assert.match(problem?.message ?? '', /: use a whole number of seconds, 1 to 2147483647, or -1 for never\.$/)
    assert.equal(checkItemText(text, 'mongo')[0]?.severity, 'warning')
  }
  for (const ttl of ['-1', 'null']) assert.deepEqual(messages(`{"id": "a", "ttl": ${ttl}}`), [])
  assert.deepEqual(messages('{"_id": 1, "ttl": {"$numberInt": "600"}}', 'mongo'), [])
})

test('an item is an object with an id', () => {
  assert.deepEqual(messages('[]'), ['An item is an object: { … }.'])
  assert.deepEqual(messages('{"id": ""}'), ['An item has an id: a text that is not empty.'])
})

test('the own ttl of a text, also with a type of BSON', () => {
  assert.equal(ownTtl('{"ttl": null}'), undefined)
  assert.deepEqual(['{}', '{"ttl": 60}', '{"ttl": {"$numberInt": "600"}}'].map(ownTtl), [undefined, 60, 600])
  assert.ok(Number.isNaN(ownTtl('{"ttl": "60"}')))
  assert.equal(ownTtl('{"ttl": 60,}'), null)
})

test('a new item has its id and the place of its partition key', () => {
  assert.deepEqual(JSON.parse(newItemText('nosql', ['/tenant/id', '/user'])), { id: '', tenant: { id: '' }, user: '' })
  assert.deepEqual(JSON.parse(newItemText('nosql', ['/id'])), { id: '' })
})

test('the scanner says of every text what JSON.parse says', () => {
  const isJson = (text: string) => {
    try {
      JSON.parse(text)
      return true
    } catch {
      return false
    }
  }
  const pieces = fc.constantFrom(
    '{',
    '}',
    '[',
    ']',
    ',',
    ':',
    '"a"',
    '1',
    '-0.5e3',
    '01',
    'true',
    'nul',
    ' ',
    '\n',
    '"',
    '\\',
  )
  const broken = fc.array(pieces, { maxLength: 8 }).map(parts => parts.join(''))
  const whole = fc.json()
  fc.assert(
    fc.property(fc.oneof(broken, whole), text => {
      assert.equal(jsonMistake(text) === undefined, isJson(text))
    }),
    { numRuns: 500 },
  )
})
