/**
 * Tests of what indexes do for filters: they miss no match, exact answers are exact, and orders are right.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RandomBson } from '../../test/support/random-bson.ts'
import { RandomFilter } from '../../test/support/random-filter.ts'
import { parseDecimal } from '../document/bson/decimal128.ts'
import { type BsonIndexOptions, bsonKeyMaker } from '../document/bson/index-keys.ts'
import { ParallelArrays } from '../document/bson/key-tuples.ts'
import { decimal128 } from '../document/bson/number.ts'
import {
  BsonArray,
  BsonDocument,
  bool,
  double,
  type Field,
  int32,
  nullValue,
  regex,
  string,
  type Value,
} from '../document/bson/value.ts'
import { encodeDocument } from '../document/bson/writer.ts'
import { chooseIndex } from '../query/choose-index.ts'
import { tieOf } from '../query/sort-key.ts'
import type { IndexRecord } from '../store/catalog.ts'
import { demandsOf } from './demands.ts'
import { printDocument } from './errors/print.ts'
import { compileFilter, type Matcher } from './filter/match.ts'
import { partialFilter } from './filter/partial-index.ts'
import { compileSort } from './paths/sort-order.ts'

const keysOf = bsonKeyMaker(partialFilter)

interface Entry {
  readonly key: Uint8Array
  readonly at: number
}

interface Built {
  readonly record: IndexRecord
  readonly entries: readonly Entry[]
}

/** Builds an index on paths like `a.b` and `-c`. */
function buildIndex(paths: readonly string[], bodies: readonly Uint8Array[], options: BsonIndexOptions = {}): Built {
  const definition = {
    number: 1,
    components: paths.map(path => ({ path: path.replace('-', '').split('.'), isDescending: path.startsWith('-') })),
    uniqueness: 'none' as const,
    options,
  }
  const entries: Entry[] = []
  let hasCutKeys = false
  let hasSeveralKeys = false
  for (const [at, body] of bodies.entries()) {
    const { keys, isCut } = keysOf([definition], body)[0]!
    entries.push(...keys.map(key => ({ key, at })))
    if (isCut) hasCutKeys = true
    if (keys.length > 1) hasSeveralKeys = true
  }
  entries.sort((a, b) => Buffer.compare(a.key, b.key) || a.at - b.at)
  const record = { definition, isDeclared: true, isReady: true, hasCutKeys, hasGaps: false, hasSeveralKeys }
  return { record, entries }
}

function found({ record, entries }: Built, { filter }: Matcher) {
  const choice = chooseIndex([record], demandsOf(filter))
  if (choice === undefined) return undefined
  const within = entries.filter(({ key }) =>
    choice.keys.some(({ low, high }) => Buffer.compare(low, key) <= 0 && Buffer.compare(key, high) < 0),
  )
  return { documents: new Set(within.map(({ at }) => at)), isExact: choice.isExact, entries: within }
}

const indexes = [['a'], ['b'], ['-b'], ['a.b'], ['b', 'a'], ['-c', 'b'], ['a.b', 'b'], ['a.b', 'a.c'], ['a', 'a.b']]

test('an index finds every document that a filter matches', () => {
  const source = new RandomBson(5)
  const filters = new RandomFilter(source, ['a', 'b', 'c', 'a.b', 'a.c'])
  let used = 0
  let exact = 0
  for (const paths of indexes) {
    const isParallel = (body: Uint8Array) => {
      try {
        buildIndex(paths, [body])
        return false
      } catch (error) {
        assert.ok(error instanceof ParallelArrays)
        return true
      }
    }
    const bodies = filters
      .documents(60)
      .map(document => encodeDocument(document))
      .filter(body => !isParallel(body))
    // Without arrays an index can be exact.
    const plain = bodies.filter(body => buildIndex(paths, [body]).entries.length === 1)
    for (const documents of [bodies, plain]) {
      const built = buildIndex(paths, documents)
      for (let n = 0; n < 400; n += 1) {
        const filter = filters.filter()
        const matcher = compileFilter(filter)
        const answer = found(built, matcher)
        if (answer === undefined) continue
        used += 1
        if (answer.isExact) exact += 1
        for (const [at, document] of documents.entries()) {
          const isMatch = matcher.matches(document)
          const isFound = answer.documents.has(at)
          if (isMatch ? isFound : !(isFound && answer.isExact)) continue
          assert.fail(`${paths} ${printDocument(filter)} ${printDocument(BsonDocument.view(document))}`)
        }
      }
    }
  }
  assert.ok(used > 500 && exact > 20, `${used} ${exact}`)
})

test('the entries of an index are in the order of the sort that it serves', () => {
  const source = new RandomBson(6)
  const documents = Array.from({ length: 300 }, () => {
    const fields: Field[] = ['a', 'b', 'c'].filter(() => source.random(5) > 0).map(name => [name, source.value(2)])
    return encodeDocument(fields)
  })
  for (const paths of [['a'], ['a', '-b'], ['a', 'b', '-c']]) {
    const single = documents.filter(document => {
      try {
        return buildIndex(paths, [document]).entries.length === 1
      } catch (error) {
        assert.ok(error instanceof ParallelArrays)
        return false
      }
    })
    const { record, entries } = buildIndex(paths, single)
    assert.equal(record.hasSeveralKeys, false)
    for (const isReverse of [false, true]) {
      const spec = paths.map((path): Field => {
        return [path.replace('-', ''), int32(path.startsWith('-') !== isReverse ? -1 : 1)]
      })
      const sort = compileSort(BsonDocument.of(spec))
      const choice = chooseIndex([record], demandsOf({ kind: 'and', of: [] }, sort))
      assert.deepEqual([choice?.isOrdered, choice?.isReverse], [true, isReverse])
      const sortKeys = single.map((document, at) => Buffer.concat([sort.keyOf(document), tieOf(at, 0, isReverse)]))
      const sorted = [...single.keys()].sort((a, b) => Buffer.compare(sortKeys[a]!, sortKeys[b]!))
      const read = entries.map(({ at }) => at)
      assert.deepEqual(isReverse ? read.toReversed() : read, sorted)
    }
  }
})

function filterOf(fields: readonly Field[]): Matcher {
  return compileFilter(BsonDocument.of(fields))
}

const operator = (name: string, value: Value): BsonDocument => BsonDocument.of([[name, value]])

test('two ends make one range only if an item has one key', () => {
  const filter = filterOf([
    [
      'a',
      BsonDocument.of([
        ['$gt', int32(3)],
        ['$lt', int32(5)],
      ]),
    ],
  ])
  const array = encodeDocument([['a', BsonArray.of([int32(1), int32(9)])]])
  assert.ok(filter.matches(array))
  assert.ok(found(buildIndex(['a'], [array]), filter)!.documents.has(0))
  const single = [1, 4, 9].map(value => encodeDocument([['a', int32(value)]]))
  assert.deepEqual([...found(buildIndex(['a'], single), filter)!.documents], [1])
})

test('a regular expression with a prefix searches the strings with that prefix, and itself', () => {
  const bodies = [string('abc'), string('abd'), string('ab'), string('b'), regex('^abc', ''), int32(1)].map(value =>
    encodeDocument([['a', value]]),
  )
  const { documents, isExact } = found(buildIndex(['a'], bodies), filterOf([['a', regex('^abc')]]))!
  assert.deepEqual([...documents].sort(), [0, 4])
  assert.equal(isExact, true)
  const inexact = found(buildIndex(['a'], bodies), filterOf([['a', regex('^ab.+')]]))!
  assert.deepEqual([...inexact.documents].sort(), [0, 1, 2])
  assert.equal(inexact.isExact, false)
  const optional = found(buildIndex(['a'], bodies), filterOf([['a', regex('^abc?$')]]))!
  assert.ok([0, 2].every(at => optional.documents.has(at)))
})

test('NaN is not below any number', () => {
  const bodies = [double(Number.NaN), int32(1), decimal128(parseDecimal('NaN')!)].map(value =>
    encodeDocument([['a', value]]),
  )
  const below = found(buildIndex(['a'], bodies), filterOf([['a', operator('$lt', int32(5))]]))!
  assert.deepEqual([below.isExact, [...below.documents]], [true, [1]])
})

const base64 = (filter: BsonDocument) => Buffer.from(encodeDocument(filter)).toString('base64')
const above5 = BsonDocument.of([['b', operator('$gt', int32(5))]])

const partial: readonly (readonly [string, readonly Field[], boolean])[] = [
  ['the same condition', [['b', operator('$gt', int32(5))]], true],
  ['a narrower one', [['b', operator('$gte', double(6))]], true],
  ['one that includes the end', [['b', operator('$gte', int32(5))]], false],
  ['a value that satisfies it', [['b', int32(7)]], true],
  ['a value that does not', [['b', int32(5)]], false],
  ['values that all do', [['b', operator('$in', BsonArray.of([int32(6), int32(7)]))]], true],
  ['values that do not all', [['b', operator('$in', BsonArray.of([int32(5), int32(7)]))]], false],
  ['nothing about it', [], false],
  ['an end on the other side', [['b', operator('$lt', int32(9))]], false],
]

for (const [name, fields, isUsed] of partial) {
  test(`a partial index is ${isUsed ? 'used' : 'not used'} for a filter with ${name}`, () => {
    const bodies = [4, 6, 7].map(b =>
      encodeDocument([
        ['a', int32(1)],
        ['b', int32(b)],
      ]),
    )
    const built = buildIndex(['a'], bodies, { partialFilter: base64(above5) })
    assert.deepEqual(
      built.entries.map(({ at }) => at),
      [1, 2],
    )
    assert.equal(found(built, filterOf([['a', int32(1)], ...fields])) !== undefined, isUsed)
  })
}

test('a sparse index is used if the filter needs the field to exist', () => {
  const bodies = [encodeDocument([['a', int32(1)]]), encodeDocument([]), encodeDocument([['a', nullValue]])]
  const built = buildIndex(['a'], bodies, { isSparse: true })
  assert.deepEqual(
    built.entries.map(({ at }) => at),
    [2, 0],
  )
  assert.deepEqual([...found(built, filterOf([['a', int32(1)]]))!.documents], [0])
  assert.equal(found(built, filterOf([['a', nullValue]])), undefined)
  assert.equal(found(built, filterOf([['a', operator('$exists', bool(false))]])), undefined)
  const sort = compileSort(BsonDocument.of([['a', int32(1)]]))
  assert.equal(chooseIndex([built.record], demandsOf({ kind: 'and', of: [] }, sort)), undefined)
})

test('two paths into two arrays are refused, and two paths into one array are not', () => {
  const list = BsonArray.of([int32(1), int32(2)])
  const parallel = encodeDocument([
    ['a', list],
    ['b', list],
  ])
  assert.throws(() => buildIndex(['a', 'b'], [parallel]), /cannot index parallel arrays \[b\] \[a\]/)
  const one = encodeDocument([
    [
      'a',
      BsonArray.of([
        BsonDocument.of([
          ['b', int32(1)],
          ['c', int32(2)],
        ]),
        BsonDocument.of([['b', int32(3)]]),
      ]),
    ],
  ])
  assert.equal(buildIndex(['a.b', 'a.c'], [one]).entries.length, 2)
})
