/** Tests of the array index at which a filter matched, and of filters on single values. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { documentOf } from '../../../test/support/extended-json.ts'
import { ElementCursor } from '../../document/bson/view.ts'
import { encodeDocument } from '../../document/bson/writer.ts'
import { compileElementFilter, compileElemMatch, compileFilter } from './match.ts'

type Json = Parameters<typeof documentOf>[0]

const positions: readonly (readonly [what: string, filter: Json, document: Json, position: number | undefined])[] = [
  ['an equal element', { a: 5 }, { a: [1, 5, 5] }, 1],
  ['an element in a range', { a: { $gt: 2 } }, { a: [1, 2, 3] }, 2],
  ['one of several', { a: { $in: [3, 2] } }, { a: [1, 2, 3] }, 1],
  ['the array itself', { a: [1, 2] }, { a: [1, 2] }, undefined],
  ['no array', { a: 5 }, { a: 5 }, undefined],
  ['$elemMatch', { a: { $elemMatch: { b: 2 } } }, { a: [{ b: 1 }, { b: 2 }] }, 1],
  ['$elemMatch of values', { a: { $elemMatch: { $gt: 1, $lt: 3 } } }, { a: [5, 2] }, 1],
  ['a field of an element', { 'a.b': 2 }, { a: [{ b: 1 }, { b: 2 }] }, 1],
  ['the outermost of two arrays', { 'a.b': 2 }, { a: [{ b: [7] }, { b: [1, 2] }] }, 1],
  ['the outermost array of $elemMatch', { 'a.b': { $elemMatch: { c: 1 } } }, { a: [{ b: [{ c: 3 }, { c: 1 }] }] }, 0],
  ['an element by its number', { 'a.1': 5 }, { a: [1, 5] }, undefined],
  ['the last of two conditions', { a: 1, b: 9 }, { a: [1], b: [8, 9] }, 1],
  ['the last that entered an array', { b: 9, a: 1, c: 1 }, { a: [1], b: [8, 9], c: 1 }, 0],
  ['the alternative that holds', { $or: [{ a: 7 }, { b: 9 }] }, { a: [1], b: [8, 9] }, 1],
  ['a negation', { a: { $ne: 7 } }, { a: [1, 2] }, undefined],
  ['neither', { $nor: [{ a: 7 }] }, { a: [1, 2] }, undefined],
  ['all of several', { a: { $all: [3, 1] } }, { a: [1, 2, 3] }, 0],
]

for (const [what, filter, document, position] of positions) {
  test(`${what} is matched ${position === undefined ? 'without an index' : `at index ${position}`}`, () => {
    const matcher = compileFilter(documentOf(filter))
    const bytes = encodeDocument(documentOf(document))
    assert.equal(matcher.matches(bytes), true)
    assert.equal(matcher.position(bytes), position)
  })
}

function elements(document: Json, test: (bytes: Uint8Array, type: number, start: number) => boolean): boolean[] {
  const bytes = encodeDocument(documentOf(document))
  const cursor = new ElementCursor(bytes)
  const results: boolean[] = []
  while (cursor.next()) results.push(test(bytes, cursor.type, cursor.valueStart))
  return results
}

test('a filter on a named value tests the value and its fields', () => {
  const values = { p: 85, q: { grade: 85 }, r: [{ grade: 90 }], s: [90], t: null }
  assert.deepEqual(elements(values, compileElementFilter(documentOf({ x: { $gte: 80 } }), 'x')), [
    true,
    false,
    false,
    true,
    false,
  ])
  assert.deepEqual(elements(values, compileElementFilter(documentOf({ 'x.grade': { $gte: 80 } }), 'x')), [
    false,
    true,
    true,
    false,
    false,
  ])
  assert.deepEqual(elements(values, compileElementFilter(documentOf({ $or: [{ x: null }, { x: 85 }] }), 'x')), [
    true,
    false,
    false,
    false,
    true,
  ])
})

test('$elemMatch tests an element without entering it', () => {
  const values = { p: 5, q: [5], r: { a: 5 } }
  assert.deepEqual(elements(values, compileElemMatch(documentOf({ $gt: 4 }))), [true, false, false])
  assert.deepEqual(elements(values, compileElemMatch(documentOf({ a: 5 }))), [false, false, true])
})

test('conditions that are too many for one shared walk run one by one', () => {
  const names = Array.from({ length: 40 }, (_, at) => `f${at}`)
  const document = Object.fromEntries(names.map((name, at) => [name, at]))
  const matcher = compileFilter(documentOf(document))
  assert.equal(matcher.matches(encodeDocument(documentOf(document))), true)
  assert.equal(matcher.matches(encodeDocument(documentOf({ ...document, f39: 0 }))), false)
})

test('the first of two fields with the same name counts', () => {
  const bytes = encodeDocument([...documentOf({ a: 1, b: 1 }).fields, ...documentOf({ a: 2 }).fields])
  for (const [filter, expected] of [
    [{ a: 1 }, true],
    [{ a: 2 }, false],
    [{ a: 1, b: 1 }, true],
    [{ b: 1, a: 2 }, false],
  ] as const) {
    assert.equal(compileFilter(documentOf(filter)).matches(bytes), expected)
  }
})
