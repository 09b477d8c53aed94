/** Tests of the entries that an item has in an index. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { InvariantError } from '../base/error.ts'
import { type IndexDefinition, indexEntriesPerItemMax, parseIndexPath } from './index-definition.ts'
import { indexedValueAt, indexKeys } from './index-keys.ts'
import { encodeKey, type KeyComponent } from './ordered-key.ts'

/** A path that starts with `-` is descending. */
function index(...paths: string[]): IndexDefinition {
  const components = paths.map(text => ({
    path: parseIndexPath(text.startsWith('-') ? text.slice(1) : text),
    isDescending: text.startsWith('-'),
  }))
  return { number: 1, components, uniqueness: 'none' }
}

function expectKeys(definition: IndexDefinition, document: unknown, expected: readonly KeyComponent[][]): void {
  const found = indexKeys(definition, document)
  assert.deepEqual(
    found.keys.map(key => Buffer.from(key).toString('hex')),
    expected.map(components => Buffer.from(encodeKey(components).key).toString('hex')),
  )
  assert.equal(found.isComplete, true)
}

test('an item has one key for its value at a path, also for null, arrays and objects', () => {
  for (const value of [null, false, 0, '', 'text', [], [1], {}, { b: 1 }]) {
    expectKeys(index('/a/b/?'), { a: { b: value } }, [[{ value }]])
  }
  expectKeys(index('-/a/?'), { a: 5 }, [[{ value: 5, isDescending: true }]])
})

test('an item without a value at the path has no key', () => {
  for (const document of [{}, { a: 1 }, { a: null }, { a: {} }, { a: [{ b: 1 }] }, { a: 'b' }, null, 'a', undefined]) {
    expectKeys(index('/a/b/?'), document, [])
  }
})

test('only own properties count, and arrays and strings have none', () => {
  for (const path of ['/constructor/?', '/__proto__/?', '/toString/name/?', '/a/length/?', '/a/0/?', '/s/length/?']) {
    expectKeys(index(path), { a: [1], s: 'text' }, [])
  }
  const document = JSON.parse('{"__proto__": {"constructor": 7}}')
  expectKeys(index('/__proto__/constructor/?'), document, [[{ value: 7 }]])
  assert.equal(indexedValueAt(document, ['__proto__', 'constructor']), 7)
})

test('an item has one key for each different element of an array', () => {
  const document = { tags: ['b', 'a', 'b', null, 0, -0, { x: 1, y: 2 }, { y: 2, x: 1 }, ['a']] }
  const values = ['b', 'a', null, 0, { x: 1, y: 2 }, ['a']]
  expectKeys(
    index('/tags/[]/?'),
    document,
    values.map(value => [{ value }]),
  )
  expectKeys(
    index('-/tags/[]/?'),
    document,
    values.map(value => [{ value, isDescending: true }]),
  )
})

test('a path goes through arrays to properties of elements and through arrays in arrays', () => {
  const lines = { lines: [{ price: 3 }, { price: 5 }, {}, 7, { price: 3 }, [{ price: 9 }]] }
  expectKeys(index('/lines/[]/price/?'), lines, [[{ value: 3 }], [{ value: 5 }]])
  expectKeys(index('/m/[]/[]/?'), { m: [[1, 2], 3, [2, [4]]] }, [[{ value: 1 }], [{ value: 2 }], [{ value: [4] }]])
})

test('a path through an array finds nothing where there is no array', () => {
  for (const tags of [undefined, null, 'text', { 0: 'a' }, []]) expectKeys(index('/tags/[]/?'), { tags }, [])
})

test('several paths make one key when any of them has a value', () => {
  const definition = index('/a/?', '-/b/?')
  const b = { value: undefined, isDescending: true }
  expectKeys(definition, { a: 1, b: 'x' }, [[{ value: 1 }, { value: 'x', isDescending: true }]])
  expectKeys(definition, { a: 1 }, [[{ value: 1 }, b]])
  expectKeys(definition, { b: null }, [[{ value: undefined }, { value: null, isDescending: true }]])
  expectKeys(definition, { c: 1 }, [])
})

test('a cut key is reported', () => {
  assert.equal(indexKeys(index('/a/?'), { a: 'x'.repeat(254) }).isCut, false)
  assert.equal(indexKeys(index('/a/?'), { a: 'x'.repeat(255) }).isCut, true)
  const alike = ['a', `${'x'.repeat(300)}1`, `${'x'.repeat(300)}2`, 'b']
  const { keys, isCut } = indexKeys(index('/a/[]/?'), { a: alike })
  assert.equal(isCut, true)
  assert.equal(keys.length, 3, 'two different elements with one cut key are one entry')
})

test('an item with too many different elements has no entries and is reported as incomplete', () => {
  const numbers = Array.from({ length: indexEntriesPerItemMax }, (_, number) => number)
  const full = indexKeys(index('/a/[]/?'), { a: [...numbers, ...numbers] })
  assert.equal(full.keys.length, indexEntriesPerItemMax)
  assert.equal(full.isComplete, true)
  const over = indexKeys(index('/a/[]/?'), { a: [...numbers, 'one more'] })
  assert.deepEqual(over, { keys: [], isCut: false, isComplete: false })
})

test('an index of several paths does not go through arrays', () => {
  assert.throws(() => indexKeys(index('/a/?', '/b/[]/?'), { a: 1, b: [1] }), InvariantError)
  assert.throws(() => indexKeys(index(), {}), InvariantError)
})

test('a long key of a unique index ends in a hash of the whole key', () => {
  const definition: IndexDefinition = { ...index('/a/?'), uniqueness: 'container' }
  const { keys, isCut } = indexKeys(definition, { a: 'x'.repeat(300) })
  assert.equal(isCut, true)
  assert.equal(keys[0]!.length, 256)
  assert.equal(
    Buffer.from(keys[0]!.subarray(216)).toString('hex'),
    '7878787878787878feb9445750054e1a8a6a4c60449a8d19cb0059059282d3c01a66fb1eed99b38b',
  )
})
