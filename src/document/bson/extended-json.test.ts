import assert from 'node:assert/strict'
import { test } from 'node:test'
import { EJSON, serialize } from 'bson'
import { RandomBson } from '../../../test/support/random-bson.ts'
import { type Steps, withoutTurns } from '../../base/steps.ts'
import { JsonTextError } from '../json-reader.ts'
import { printExtendedJson, printInSteps } from './extended-json.ts'
import { parseExtendedDocument, parseExtendedJson, parseInSteps } from './parse-extended-json.ts'
import { BsonDocument } from './value.ts'
import { encodeDocument, encodeInSteps } from './writer.ts'

const roundTrip = (text: string) => printExtendedJson(parseExtendedJson(text), { mode: 'canonical' })

test('random documents survive canonical and editable text, laid out or not, byte for byte', () => {
  const random = new RandomBson(7)
  for (let round = 0; round < 3000; round++) {
    const bytes = encodeDocument(random.document(3))
    const document = BsonDocument.view(bytes)
    for (const mode of ['canonical', 'editable'] as const) {
      for (const indent of [0, 2]) {
        const text = printExtendedJson(document, { mode, indent })
        const again = encodeDocument(parseExtendedDocument(text))
        assert.ok(Buffer.compare(bytes, again) === 0 || isSameButNaN(bytes, again), text)
      }
    }
  }
})

/** Encodings of one number that print alike. */
function isSameButNaN(one: Uint8Array, other: Uint8Array): boolean {
  const print = (bytes: Uint8Array) => printExtendedJson(BsonDocument.view(bytes), { mode: 'canonical' })
  return print(one) === print(other)
}

test('canonical text is what the official package reads', () => {
  const random = new RandomBson(11)
  for (let round = 0; round < 500; round++) {
    const document = random.document(3)
    const text = printExtendedJson(document, { mode: 'canonical' })
    // The package knows UUIDs of 16 bytes and dates of this age only, and moves names that look like numbers.
    if (/"\$(undefined|dbPointer|date)"|__proto__|"[01]"|""|"subType":"04"/.test(text)) continue
    assert.doesNotThrow(() => serialize(EJSON.parse(text, { relaxed: false }) as object), text)
  }
})

test('names keep their order and repeat, numbers keep their type and digits', () => {
  assert.equal(
    roundTrip('{"b":1,"2":2.0,"1":12345678901,"b":{"$numberDecimal":"129.90"}}'),
    '{"b":{"$numberInt":"1"},"2":{"$numberDouble":"2.0"},"1":{"$numberLong":"12345678901"},' +
      '"b":{"$numberDecimal":"129.90"}}',
  )
  assert.equal(roundTrip('{"$date":"2026-11-15T13:42:01Z"}'), '{"$date":{"$numberLong":"1794750121000"}}')
  assert.equal(roundTrip('-0'), '{"$numberDouble":"-0.0"}')
  assert.equal(roundTrip('99999999999999999999'), '{"$numberDouble":"100000000000000000000.0"}')
})

test('a filter keeps its operators', () => {
  assert.equal(
    roundTrip('{"a":{"$regex":"^x","$options":"i"},"$or":[]}'),
    '{"a":{"$regex":"^x","$options":"i"},"$or":[]}',
  )
})

test('wrong text is refused with its line and column', () => {
  const cases: readonly (readonly [text: string, line: number, column: number])[] = [
    ['{"a": }', 1, 7],
    ['{\n  "a": 1,\n  "b" 2\n}', 3, 7],
    ['{"a": {"$oid": "zz"}}', 1, 7],
    ['{"a": {"$numberInt": "99999999999"}}', 1, 7],
    ['{"a": {"$date": "yesterday"}}', 1, 7],
    ['{"a": "x', 1, 7],
    ['{"a": "x\\q"}', 1, 7],
    ['{} 1', 1, 4],
    ['', 1, 1],
    ['{"a":01}', 1, 7],
    ['[1,]', 1, 3],
    [`${'['.repeat(500)}`, 1, 182],
  ]
  for (const [text, line, column] of cases) {
    assert.throws(
      () => parseExtendedJson(text),
      (error: unknown) => {
        assert.ok(error instanceof JsonTextError, text)
        assert.deepEqual([error.line, error.column], [line, column], `${text}: ${error.message}`)
        return true
      },
    )
  }
})

test('steps write the same bytes as one go', () => {
  const random = new RandomBson(13)
  for (let round = 0; round < 1000; round++) {
    const document = random.document(3)
    const parsed = parseExtendedDocument(printExtendedJson(document, { mode: 'canonical' }))
    assert.deepEqual(withoutTurns(encodeInSteps(parsed)), encodeDocument(parsed))
  }
})

test('a large document is printed, parsed and written in many steps', () => {
  const small = Array.from({ length: 30_000 }, (_, at) => `{"at":${at}}`).join(',')
  for (const text of [`{"list":[${small}]}`, `{"code":{"$code":"","$scope":{"list":[${small}]}}}`]) {
    const document = parseExtendedDocument(text)
    assert.ok(countSteps(parseInSteps(text)) >= 30)
    assert.ok(countSteps(encodeInSteps(document)) >= 30)
    assert.ok(countSteps(printInSteps(BsonDocument.view(encodeDocument(document)), { mode: 'editable' })) >= 20)
  }
  const long = JSON.stringify({ text: 'ä"'.repeat(1_000_000) })
  assert.ok(countSteps(parseInSteps(long)) >= 30)
  assert.ok(countSteps(printInSteps(parseExtendedDocument(long), { mode: 'relaxed' })) >= 30)
  assert.equal(printExtendedJson(parseExtendedDocument(long), { mode: 'relaxed' }), long)
})

function countSteps(steps: Steps<unknown>): number {
  let count = 0
  while (steps.next().done !== true) count++
  return count
}
