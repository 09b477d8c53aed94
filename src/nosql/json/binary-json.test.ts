/** Tests that binary JSON becomes the same JSON, however it is written, and that nothing else is accepted. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { binaryJson } from '../../../test/support/binary-json.ts'
import { fc } from '../../../test/support/property.ts'
import { RequestError } from '../../base/error.ts'
import { nestingDepthMax, requestBytesMax } from '../../base/limits.ts'
import { binaryJsonToText, isBinaryJson } from './binary-json.ts'

const textOf = (...bytes: readonly number[]) => binaryJsonToText(Buffer.of(0x80, ...bytes)).toString('utf8')
const ascii = (text: string) => [...Buffer.from(text, 'latin1')]

test('literals and numbers', () => {
  assert.equal(textOf(0xd0), 'null')
  assert.equal(textOf(0xd1), 'false')
  assert.equal(textOf(0xd2), 'true')
  assert.equal(textOf(0x00), '0')
  assert.equal(textOf(0x1f), '31')
  assert.equal(textOf(0xc8, 0xff), '255')
  assert.equal(textOf(0xc9, 0xfe, 0xff), '-2')
  assert.equal(textOf(0xca, 0x00, 0x00, 0x00, 0x80), '-2147483648')
  assert.equal(textOf(0xcb, ...Array(7).fill(0xff), 0x7f), '9223372036854775807')
  assert.equal(textOf(0xcb, ...Array(7).fill(0), 0x80), '-9223372036854775808')
  assert.equal(textOf(0xc7, ...Array(8).fill(0xff)), '18446744073709551615')
  assert.equal(textOf(0xcc, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f), '1.5')
  assert.equal(textOf(0xcc, 0, 0, 0, 0, 0, 0, 0, 0x80), '-0')
  assert.equal(textOf(0xcd, 0, 0, 0x20, 0xc0), '-2.5')
  assert.equal(textOf(0xd8, 0x80), '-128')
  assert.equal(textOf(0xdc, 0xff, 0xff, 0xff, 0xff), '4294967295')
})

test('strings of every form', () => {
  assert.equal(textOf(0x80), '""')
  assert.equal(textOf(0x83, ...ascii('abc')), '"abc"')
  assert.equal(textOf(0xc0, 2, 0xc3, 0xa9), '"é"')
  assert.equal(textOf(0xc1, 3, 0, ...ascii('a"\n')), '"a\\"\\n"')
  assert.equal(textOf(0x2c), '"id"')
  assert.equal(textOf(0x3f), '"_id"')
  const sixteen = Array.from({ length: 16 }, (_, at) => at * 16 + at)
  assert.equal(textOf(0x75, ...sixteen), '"00112233-4455-6677-8899-aabbccddeeff"')
  assert.equal(textOf(0x76, ...sixteen), '"00112233-4455-6677-8899-AABBCCDDEEFF"')
  assert.equal(textOf(0x77, ...sixteen), '"\\"00112233-4455-6677-8899-aabbccddeeff\\""')
  assert.equal(textOf(0xd3, ...sixteen), '"33221100-5544-7766-8899-aabbccddeeff"')
  // "hello", "hell" and "hel" in base64.
  assert.equal(textOf(0x71, 2, 1, ...ascii('hello')), '"aGVsbG8="')
  assert.equal(textOf(0x71, 2, 2, ...ascii('hell')), '"aGVsbA=="')
  assert.equal(textOf(0x72, 1, 0, 0, ...ascii('hel')), '"aGVs"')
  assert.equal(textOf(0x73, 2, 0xfe, ...ascii('hello')), '"aGVsbG8"')
  assert.equal(textOf(0x71, 1, 0xfd, 0xfb), '"+w"')
  assert.equal(textOf(0x73, 1, 2, 0xfb), '"-w=="')
  assert.equal(textOf(0x78, 3, 0xba, 0x0c), '"abc"')
  assert.equal(textOf(0x79, 2, 0xfe), '"EF"')
  assert.equal(textOf(0x7a, 4, 0x31, 0xcb), '"02:-"')
  assert.equal(textOf(0x7b, 2, 0x61, 0x10), '"ab"')
  assert.equal(textOf(0x7e, 2, 0xe1, 0x31), '"ac"')
  assert.equal(textOf(0xdd, 3, ...ascii('hel')), '"aGVs"')
})

test('arrays and objects of every form', () => {
  assert.equal(textOf(0xe0), '[]')
  assert.equal(textOf(0xe8), '{}')
  assert.equal(textOf(0xe1, 0xe1, 7), '[[7]]')
  assert.equal(textOf(0xe9, 0x2c, 0x81, 0x61), '{"id":"a"}')
  assert.equal(textOf(0xe2, 3, 1, 2, 3), '[1,2,3]')
  assert.equal(textOf(0xe5, 3, 3, 1, 2, 3), '[1,2,3]')
  assert.equal(textOf(0xeb, 4, 0, 0x2c, 1, 0x35, 2), '{"id":1,"name":2}')
  assert.equal(textOf(0xef, 4, 0, 0, 0, 2, 0, 0, 0, 0x2c, 1, 0x35, 2), '{"id":1,"name":2}')
  assert.equal(textOf(0xf0, 0xd8, 3, 0, 1, 0xff), '[0,1,-1]')
  assert.equal(textOf(0xf1, 0xd9, 1, 0, 0, 1), '[256]')
  assert.equal(textOf(0xf2, 0xf0, 0xd7, 2, 3, 1, 2, 3, 4, 5, 6), '[[1,2],[3,4],[5,6]]')
  assert.equal(textOf(0xf3, 0xf1, 0xd7, 0, 0, 2, 0), '[[],[]]')
})

test('a string may stand for an earlier one', () => {
  assert.equal(textOf(0xe2, 5, 0x82, ...ascii('hi'), 0xc3, 3), '["hi","hi"]')
  assert.equal(textOf(0xea, 8, 0x82, ...ascii('hi'), 1, 0xc4, 3, 0, 2), '{"hi":1,"hi":2}')
})

function refused(bytes: Buffer): RequestError {
  try {
    const text = binaryJsonToText(bytes).toString('utf8')
    assert.fail(`accepted as ${text.slice(0, 100)}`)
  } catch (error) {
    assert.ok(error instanceof RequestError, String(error))
    return error
  }
}

test('what is not binary JSON is malformed', () => {
  const cases: [string, readonly number[]][] = [
    ['nothing', []],
    ['bytes after the value', [0xd0, 0xd0]],
    ['an unknown marker', [0x68]],
    ['an unknown marker', [0x70]],
    ['a half float', [0xcf, 0, 0]],
    ['a reserved marker', [0xff]],
    ['a string of a dictionary', [0x40]],
    ['a string of a dictionary', [0x60, 0]],
    ['a number that ends early', [0xcb, 0, 0]],
    ['a string that ends early', [0x83, 0x61]],
    ['a length that ends early', [0xc2, 1, 0]],
    ['a huge length', [0xc2, 0xff, 0xff, 0xff, 0xff]],
    ['a string that is not UTF-8', [0x81, 0xff]],
    ['half a surrogate pair', [0x83, 0xed, 0xa0, 0x80]],
    ['NaN', [0xcc, 0, 0, 0, 0, 0, 0, 0xf8, 0x7f]],
    ['an infinite float', [0xcd, 0, 0, 0x80, 0x7f]],
    ['a name that is a number', [0xe9, 1, 2]],
    ['a name that is an array', [0xe9, 0xe0, 2]],
    ['a name without a value', [0xea, 1, 0x2c]],
    ['an array that is longer than the body', [0xe2, 4, 1]],
    ['a member that is longer than its array', [0xe2, 1, 0xc8, 1]],
    ['a count that is too small', [0xe5, 2, 1, 1, 2]],
    ['a count that is too large', [0xe5, 2, 3, 1, 2]],
    ['numbers of no type', [0xf0, 0xd0, 1, 1]],
    ['numbers that end early', [0xf0, 0xda, 2, 1, 0, 0, 0]],
    ['nested numbers of another width', [0xf2, 0xf1, 0xd7, 1, 1, 1]],
    ['a reference to itself', [0xc3, 1]],
    ['a reference to the first byte', [0xc3, 0]],
    ['a reference to a later place', [0xe2, 4, 0xc3, 5, 0x81, 0x61]],
    ['a reference to a number', [0xe2, 4, 0xc8, 1, 0xc3, 3]],
    ['a reference to a reference', [0xe2, 6, 0x81, 0x61, 0xc3, 3, 0xc3, 5]],
    ['too much padding', [0x71, 1, 0xfc, 0]],
    ['padding without characters', [0x71, 0, 1]],
    ['packed characters beyond ASCII', [0x7b, 1, 0x7f, 0x01]],
  ]
  for (const [name, bytes] of cases) assert.equal(refused(Buffer.of(0x80, ...bytes)).kind, 'malformed', name)
})

test('the nesting depth is limited, in every form', () => {
  const nested = (levels: number) => Buffer.concat([Buffer.of(0x80), Buffer.alloc(levels - 1, 0xe1), Buffer.of(0xe0)])
  const { length } = binaryJsonToText(nested(nestingDepthMax))
  assert.equal(length, 2 * nestingDepthMax)
  assert.match(refused(nested(nestingDepthMax + 1)).message, /nested deeper/)
  assert.match(refused(nested(2_000_000)).message, /nested deeper/)
  const around = (inner: number[], levels: number) =>
    Buffer.concat([Buffer.of(0x80), Buffer.alloc(levels, 0xe1), Buffer.from(inner)])
  assert.ok(binaryJsonToText(around([0xf2, 0xf0, 0xd7, 0, 1], nestingDepthMax - 2)))
  assert.match(refused(around([0xf2, 0xf0, 0xd7, 0, 1], nestingDepthMax - 1)).message, /nested deeper/)
})

test('a small body cannot become a huge text', () => {
  const long = Buffer.concat([Buffer.of(0xc2, 0, 0, 1, 0), Buffer.alloc(65_536, 0x61)])
  const references = Buffer.alloc(20_000, Buffer.of(0xc3, 6))
  const length = Buffer.alloc(4)
  length.writeUInt32LE(long.length + references.length)
  const bomb = Buffer.concat([Buffer.of(0x80, 0xe4), length, long, references])
  assert.equal(refused(bomb).kind, 'too_large')
  const empty = Buffer.alloc(7 * 1000, Buffer.of(0xf3, 0xf1, 0xd7, 0, 0, 0xff, 0xff))
  length.writeUInt32LE(empty.length)
  assert.equal(refused(Buffer.concat([Buffer.of(0x80, 0xe4), length, empty])).kind, 'too_large')
  assert.ok(bomb.length + empty.length < requestBytesMax)
})

test('text is not taken for binary JSON', () => {
  for (const text of ['{}', '[]', ' 1', 'null', '"\u0080"', '\ufeff{}', '']) assert.ok(!isBinaryJson(Buffer.from(text)))
})

const knownText = fc.oneof(
  fc.string({ unit: 'grapheme' }),
  fc.string({ unit: 'binary', maxLength: 100 }).map(text => text.toWellFormed()),
  fc.constantFrom('id', '_rid', '_etag', 'name', 'value', 'a', 'b'),
  fc.uuid(),
  fc.uuid().map(text => text.toUpperCase()),
  fc.uuid().map(text => `"${text}"`),
  fc.base64String({ maxLength: 100 }),
  fc.base64String().map(text => text.replaceAll('=', '').replaceAll('+', '-').replaceAll('/', '_')),
  fc.date({ noInvalidDate: true }).map(date => date.toISOString()),
  fc.stringMatching(/^[0-9a-f]{0,60}$/),
  fc.string({ minLength: 250, maxLength: 700 }),
)
const number = fc.oneof(
  fc.integer({ min: -3, max: 300 }),
  fc.integer(),
  fc.maxSafeInteger(),
  fc.double({ noDefaultInfinity: true, noNaN: true }),
  fc.float({ noDefaultInfinity: true, noNaN: true }),
)
const { json } = fc.letrec<{ json: unknown }>(tie => ({
  json: fc.oneof(
    { maxDepth: 4 },
    fc.constantFrom(null, true, false),
    number,
    knownText,
    fc.array(number),
    fc.array(fc.array(number, { minLength: 2, maxLength: 2 })),
    fc.array(tie('json')),
    fc.dictionary(knownText, tie('json')),
  ),
}))

const written = fc
  .tuple(json, fc.infiniteStream(fc.nat()))
  .map(([value, choices]) => ({ value, bytes: binaryJson(value, limit => choices.next().value % limit) }))

/** As JSON.parse would give it: names like `__proto__` are ordinary. */
const plain = (value: unknown) => JSON.parse(JSON.stringify(value, (_, part) => (Object.is(part, -0) ? 0 : part)))

test('JSON of every kind, written in any way, becomes the same JSON', () => {
  fc.assert(
    fc.property(written, ({ value, bytes }) => {
      assert.deepEqual(plain(JSON.parse(binaryJsonToText(bytes).toString('utf8'))), plain(value))
    }),
    { numRuns: 3000 },
  )
})

test('damaged and random bytes become JSON or are refused as the fault of the client', () => {
  const damaged = fc
    .tuple(
      written,
      fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 }), fc.nat({ max: 2 })), { minLength: 1, maxLength: 4 }),
    )
    .map(([{ bytes }, damages]) => {
      let result = bytes
      for (const [where, byte, kind] of damages) {
        const at = 1 + (where % result.length)
        const inserted = kind === 0 ? Buffer.alloc(0) : Buffer.of(byte)
        result = Buffer.concat([result.subarray(0, at), inserted, result.subarray(kind === 2 ? at : at + 1)])
      }
      return result
    })
  const random = fc.uint8Array({ maxLength: 60 }).map(bytes => Buffer.of(0x80, ...bytes))
  fc.assert(
    fc.property(fc.oneof(damaged, random), bytes => {
      let text: string
      try {
        text = binaryJsonToText(bytes).toString('utf8')
      } catch (error) {
        assert.ok(error instanceof RequestError && ['malformed', 'too_large'].includes(error.kind), String(error))
        return
      }
      JSON.parse(text)
    }),
    { numRuns: 10_000 },
  )
})
