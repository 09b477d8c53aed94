/** Tests of reading, comparing and writing partition keys. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { extractPartitionKeys } from '../../node_modules/@azure/cosmos/dist/esm/extractPartitionKey.js'
import { fc } from '../../test/support/property.ts'
import { InvariantError } from '../base/error.ts'
import {
  canonicalPartitionKey,
  extractPartitionKey,
  type PartitionKeyComponent,
  parsePartitionKeyHeader,
  parsePartitionKeyPath,
  partitionKeyBytesMax,
  partitionKeysEqual,
  undefinedComponent,
} from './partition-key.ts'

const malformed = { name: 'RequestError', kind: 'malformed' }

const anyComponent: fc.Arbitrary<PartitionKeyComponent> = fc.oneof(
  fc.string({ unit: 'binary', maxLength: 40 }),
  // Any UTF-16 unit, so that lone surrogates occur.
  fc.array(fc.integer({ min: 0xd7f0, max: 0xe010 }), { maxLength: 5 }).map(units => String.fromCharCode(...units)),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
  fc.boolean(),
  fc.constantFrom(null, undefinedComponent, 0, -0, '', '{}', 'null', '0'),
)
const anyKey = fc.array(anyComponent, { maxLength: 3 })

function toWire(key: readonly PartitionKeyComponent[]): string {
  return JSON.stringify(key.map(component => (component === undefinedComponent ? {} : component)))
}

test('a path names its properties, in quotes where they need them', () => {
  const cases: [string, string[]][] = [
    ['/a', ['a']],
    ['/a/b/c', ['a', 'b', 'c']],
    ['/tenant-id', ['tenant-id']],
    ['/größe', ['größe']],
    ['/"quoted name"/x', ['quoted name', 'x']],
    ['/x/"a/b"', ['x', 'a/b']],
    ["/'single'", ['single']],
    ['/"say \\"hi\\""', ['say \\"hi\\"']],
    ['/"*"', ['*']],
  ]
  for (const [path, names] of cases) assert.deepEqual(parsePartitionKeyPath(path), names, path)
})

test("a path that cannot be parsed is refused in the service's words", () => {
  for (const path of ['', '/', 'id', '/a/', '/a//b', '/a/*', '/*', '/a?', '/a b', '/a#b', '/"open', '/"a"b', '/a"b"']) {
    assert.throws(
      () => parsePartitionKeyPath(path),
      {
        ...malformed,
        message: new RegExp(
          "^The partition key component definition path '.*' could not be accepted, failed near position '\\d+'\\. " +
            'Partition key paths must contain only valid characters and not contain a trailing slash or wildcard ' +
            'character\\.$',
        ),
      },
      path,
    )
  }
})

test('a header holds strings, numbers, booleans, null and {} for undefined', () => {
  const cases: [string, PartitionKeyComponent[]][] = [
    ['["plain ascii"]', ['plain ascii']],
    ['[""]', ['']],
    ['["a","b"]', ['a', 'b']],
    ['["a\\u00e9\\n\\"b\\\\"]', ['aé\n"b\\']],
    ['["\\ud800"]', ['\ud800']],
    ['["é"]', ['é']],
    [' [ "a" , 1.5 ] ', ['a', 1.5]],
    ['[null]', [null]],
    ['[true,false]', [true, false]],
    ['[{}]', [undefinedComponent]],
    ['[{ },"x",{}]', [undefinedComponent, 'x', undefinedComponent]],
    ['[]', []],
  ]
  for (const [header, key] of cases) assert.deepEqual(parsePartitionKeyHeader(header), key, header)
})

test('a header that is not a partition key is refused', () => {
  const headers = [
    '',
    '"a"',
    '{}',
    'null',
    '1',
    '["a"',
    '["a"b"]',
    '["a\tb"]',
    '["]',
    '[undefined]',
    '[NaN]',
    '[1e999]',
  ]
  for (const header of [...headers, '[[]]', '[["a"]]', '[{"a":1}]', '[{"__proto__":1}]', '["a","b","c","d"]']) {
    assert.throws(() => parsePartitionKeyHeader(header), malformed, header)
  }
})

test('the limit of a value is in bytes, not characters, in a header and in an item', () => {
  const paths = [['pk']]
  for (const letter of ['a', 'é', '漢', '😀']) {
    const longest = letter.repeat(Math.floor(partitionKeyBytesMax / Buffer.byteLength(letter)))
    assert.deepEqual(parsePartitionKeyHeader(JSON.stringify([longest])), [longest])
    assert.deepEqual(extractPartitionKey({ pk: longest }, paths), [longest])
    assert.throws(() => parsePartitionKeyHeader(JSON.stringify([longest + letter])), malformed)
    assert.throws(() => extractPartitionKey({ pk: longest + letter }, paths), malformed)
  }
  const escaped = `["${'\\u0061'.repeat(partitionKeyBytesMax)}"]`
  assert.deepEqual(parsePartitionKeyHeader(escaped), ['a'.repeat(partitionKeyBytesMax)])
  assert.throws(() => parsePartitionKeyHeader(`[${' '.repeat(100_000)}"a"]`), malformed)
})

test('a key that a client writes in a header is read back unchanged', () => {
  fc.assert(
    fc.property(anyKey, key => {
      assert.ok(partitionKeysEqual(parsePartitionKeyHeader(toWire(key)), key))
    }),
  )
})

test('the key of an item is found through objects, by own properties only', () => {
  const item = { a: { b: 'deep', n: null }, list: ['first'], text: 'abc', zero: -0, yes: true, o: {} }
  const cases: [string[], PartitionKeyComponent][] = [
    [['a', 'b'], 'deep'],
    [['a', 'n'], null],
    [['yes'], true],
    [['zero'], 0],
    [['missing'], undefinedComponent],
    [['missing', 'b'], undefinedComponent],
    [['a', 'n', 'x'], undefinedComponent],
    [['a'], undefinedComponent],
    [['o'], undefinedComponent],
    [['list'], undefinedComponent],
    [['list', '0'], undefinedComponent],
    [['list', 'length'], undefinedComponent],
    [['text', 'length'], undefinedComponent],
    [['constructor', 'name'], undefinedComponent],
    [['__proto__'], undefinedComponent],
  ]
  for (const [path, component] of cases)
    assert.deepEqual(extractPartitionKey(item, [path]), [component], path.join('/'))
  assert.deepEqual(
    extractPartitionKey(
      item,
      cases.map(([path]) => path),
    ),
    cases.map(([, component]) => component),
  )
  assert.deepEqual(extractPartitionKey(JSON.parse('{"__proto__":{"x":1}}'), [['__proto__', 'x']]), [1])
  assert.throws(() => extractPartitionKey(JSON.parse('{"pk":1e999}'), [['pk']]), malformed)
})

test('the SDK finds the same key in an item', () => {
  const paths = ['/a', '/b/"c d"', '/e']
  const parsedPaths = paths.map(parsePartitionKeyPath)
  fc.assert(
    fc.property(fc.tuple(anyComponent, anyComponent, anyComponent), ([a, c, e]) => {
      const item: Record<string, unknown> = { b: {} }
      if (a !== undefinedComponent) item.a = a
      if (c !== undefinedComponent) item.b = { 'c d': c }
      if (e !== undefinedComponent) item.e = e
      const sent = JSON.stringify(extractPartitionKeys(item, { paths, kind: 'MultiHash', version: 2 } as never))
      assert.ok(partitionKeysEqual(extractPartitionKey(item, parsedPaths), parsePartitionKeyHeader(sent)))
    }),
  )
})

test('negative zero becomes zero in headers and in items', () => {
  assert.ok(Object.is(parsePartitionKeyHeader('[-0]')[0], 0))
  assert.ok(Object.is(parsePartitionKeyHeader('[-0.0e5]')[0], 0))
  assert.ok(Object.is(extractPartitionKey({ pk: -0 }, [['pk']])[0], 0))
})

test('the canonical text is plain JSON', () => {
  assert.equal(canonicalPartitionKey(['a"b']), '["a\\"b"]')
  assert.equal(canonicalPartitionKey([undefinedComponent]), '[{}]')
  assert.equal(canonicalPartitionKey(['a', null, undefinedComponent]), '["a",null,{}]')
  assert.equal(canonicalPartitionKey([-0, 1e21, true]), '[0,1e+21,true]')
  assert.equal(canonicalPartitionKey([]), '[]')
  assert.throws(() => canonicalPartitionKey([Number.POSITIVE_INFINITY]), InvariantError)
})

test('canonical texts are equal exactly when the keys are, also after encoding to UTF-8', () => {
  const stored = (key: PartitionKeyComponent[]) => Buffer.from(canonicalPartitionKey(key)).toString()
  fc.assert(
    fc.property(anyKey, anyKey, (a, b) => {
      assert.equal(stored(a) === stored(b), partitionKeysEqual(a, b))
      assert.ok(partitionKeysEqual(parsePartitionKeyHeader(stored(a)), a))
    }),
    { numRuns: 1000 },
  )
  assert.notEqual(stored(['\ud800']), stored(['\ud801']))
  assert.notEqual(stored(['\ud800']), stored(['\ufffd']))
  assert.equal(stored([-0]), stored([0]))
})

test('keys are equal when all their components are', () => {
  assert.ok(partitionKeysEqual(['a', undefinedComponent], ['a', undefinedComponent]))
  assert.ok(partitionKeysEqual([0], [-0]))
  const different: [PartitionKeyComponent[], PartitionKeyComponent[]][] = [
    [['a'], ['a', 'b']],
    [[1], ['1']],
    [[null], [undefinedComponent]],
    [[false], [0]],
    [[], [undefinedComponent]],
  ]
  for (const [a, b] of different) assert.ok(!partitionKeysEqual(a, b), `${toWire(a)} and ${toWire(b)}`)
})
