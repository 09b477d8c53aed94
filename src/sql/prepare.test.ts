/** Tests of preparing queries: the cache and its bounds, and the parameters of a request. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { RequestError } from '../base/error.ts'
import { PreparedQueries, preparedQueriesMax, preparedQueryCharsMax, prepareQuery, toParameters } from './prepare.ts'
import { runQueryOver } from './run.ts'

describe('prepared queries', () => {
  test('are cached by text', () => {
    const queries = new PreparedQueries()
    assert.equal(queries.prepare('SELECT 1'), queries.prepare('SELECT 1'))
    assert.notEqual(queries.prepare('SELECT 1'), queries.prepare('SELECT  1'))
  })

  test('are evicted beyond a limit, but not one in use', () => {
    const queries = new PreparedQueries()
    const used = queries.prepare('SELECT "used"')
    for (let index = 0; index < 2 * preparedQueriesMax; index += 1) {
      queries.prepare(`SELECT ${index}`)
      queries.prepare('SELECT "used"')
    }
    assert.equal(queries.size, preparedQueriesMax)
    assert.equal(queries.prepare('SELECT "used"'), used)
  })

  test('of great length are not cached', () => {
    const queries = new PreparedQueries()
    queries.prepare(`SELECT "${'x'.repeat(preparedQueryCharsMax)}"`)
    assert.equal(queries.size, 0)
  })

  test('that failed are not cached', () => {
    const queries = new PreparedQueries()
    assert.throws(() => queries.prepare('SELECT FROM'), RequestError)
    assert.equal(queries.size, 0)
  })
})

describe('parameters', () => {
  test('must all be given, also when there are no items', () => {
    const prepared = prepareQuery('SELECT * FROM c WHERE c.a = @a OR EXISTS(SELECT VALUE 1 WHERE c.b = @b)')
    const options = { momentMs: 0, parameters: new Map([['@a', undefined]]) }
    assert.throws(() => runQueryOver(prepared, options, []), /SC2001.*Identifier '@b' could not be resolved/)
    options.parameters.set('@b', undefined)
    assert.deepEqual(runQueryOver(prepared, options, []), [])
  })

  test('are read by name', () => {
    const parameters = toParameters([{ name: '@a', value: 1 }, { name: '@b', value: null }, { name: '@c' }])
    assert.deepEqual(
      [...parameters],
      [
        ['@a', 1],
        ['@b', null],
        ['@c', undefined],
      ],
    )
  })

  test('may be left out', () => {
    assert.equal(toParameters(undefined).size, 0)
    assert.equal(toParameters(null).size, 0)
  })

  test('of another form are refused', () => {
    for (const list of ['@a', {}, [1], [null], [{}], [{ name: 'a' }], [{ name: 1 }], [['@a', 1]]]) {
      assert.throws(() => toParameters(list), RequestError, JSON.stringify(list))
    }
  })

  test('that are nested too deeply are refused', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`)
    assert.throws(() => toParameters([{ name: '@a', value: deep }]), /nested deeper/)
  })
})
