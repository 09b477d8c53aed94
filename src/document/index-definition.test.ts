/** Tests of the text of index paths. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { InvariantError } from '../base/error.ts'
import { anyElement, type IndexPath, parseIndexPath, printIndexPath } from './index-definition.ts'

test('a path is written with quotes where a name needs them', () => {
  const cases: [IndexPath, string][] = [
    [['a'], '/a/?'],
    [['a', 'b c', anyElement, 'd'], '/a/"b c"/[]/d/?'],
    [['tags', anyElement], '/tags/[]/?'],
    [['m', anyElement, anyElement], '/m/[]/[]/?'],
    [['[]'], '/"[]"/?'],
    [['?'], '/"?"/?'],
    [[''], '/""/?'],
    [['a/b', 'say "hi"', 'back\\'], '/"a/b"/"say \\"hi\\""/"back\\\\"/?'],
    [['\ud800'], '/"\\ud800"/?'],
  ]
  for (const [path, text] of cases) {
    assert.equal(printIndexPath(path), text)
    assert.deepEqual(parseIndexPath(text), path)
  }
})

test('every path is read back as it was written', () => {
  const name = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.array(fc.integer({ min: 0, max: 0xffff }), { maxLength: 4 }).map(units => String.fromCharCode(...units)),
    fc.constantFrom('__proto__', '"', '\\', '\\"', '/', '/?', '[]', '*'),
  )
  const anyPath = fc.array(fc.oneof({ weight: 4, arbitrary: name }, fc.constant(anyElement)), { minLength: 1 })
  fc.assert(
    fc.property(anyPath, path => {
      assert.deepEqual(parseIndexPath(printIndexPath(path)), path)
    }),
    { numRuns: 2000 },
  )
})

test('a text that is not an index path is an invariant error', () => {
  const texts = ['', '/', '/?', '?', 'a', 'a/?', '/a', '/a/', '/a?', '/a//?', '//?', '/a/?/', '/a/?/b/?', '/a/*', '/*']
  texts.push('/"a/?', '/"a"b/?', "/'a'/?", '/a b/?', '/[0]/?', '/"\\x"/?', '/"\n"/?', '/null/b c/?', '/-1/?', '/{}/?')
  for (const text of texts) assert.throws(() => parseIndexPath(text), InvariantError, text)
})
