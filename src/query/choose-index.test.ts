/** Tests of the choice of an index, and of the rule that no wanted item lies outside the ranges. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { anyElement, type IndexComponent, type IndexPath } from '../document/index-definition.ts'
import { indexKeys } from '../document/index-keys.ts'
import type { KeyBound } from '../document/ordered-key.ts'
import type { IndexRecord } from '../store/catalog.ts'
import { ascendingFirst, chooseIndex, describeIndex, type IndexChoice, wishedIndex } from './choose-index.ts'
import type { Demands } from './demands.ts'

/** `a`, `-b` for a descending one, `tags[]` for the elements of an array. */
function component(text: string): IndexComponent {
  const name = text.replace('-', '')
  const path: IndexPath = name.endsWith('[]') ? [name.slice(0, -2), anyElement] : name.split('.')
  return { path, isDescending: text.startsWith('-') }
}

let lastNumber = 0
function index(paths: string, record: Partial<IndexRecord> = {}): IndexRecord {
  const components = paths.split(' ').map(component)
  const definition = { number: ++lastNumber, components, uniqueness: 'none' } as const
  return {
    definition,
    isDeclared: false,
    isReady: true,
    hasCutKeys: false,
    hasGaps: false,
    hasSeveralKeys: false,
    ...record,
  }
}

function demands(filter: Readonly<Record<string, KeyBound | KeyBound[]>>, order = '', isWholeFilter = true): Demands {
  return {
    demands: Object.entries(filter).map(([path, bounds]) => ({ path: component(path).path, bounds: [bounds].flat() })),
    order: order === '' ? [] : order.split(' ').map(component),
    isWholeFilter,
  }
}

const equals = (value: unknown): KeyBound => ({ equals: value })
const above: KeyBound = { min: 1, minInclusive: true }
const between: KeyBound = { min: 1, minInclusive: true, max: 5, maxInclusive: false }
const defined: KeyBound = { defined: true }

function chosen(choice: IndexChoice | undefined): string | undefined {
  if (choice === undefined) return undefined
  const { isOrdered, isReverse, isExact, keys } = choice
  const marks = [
    isOrdered ? (isReverse ? 'reverse' : 'ordered') : '',
    isExact ? 'exact' : '',
    keys.length === 1 ? '' : `${keys.length} ranges`,
  ]
  return [describeIndex(choice.index.definition.components).replaceAll(/\/\?|\//g, ''), ...marks.filter(Boolean)].join(
    ' ',
  )
}

describe('the choice', () => {
  const cases: readonly (readonly [
    name: string,
    indexes: IndexRecord[],
    wanted: Demands,
    choice: string | undefined,
  ])[] = [
    ['no index without demands', [index('a')], demands({}), undefined],
    ['nothing for another path', [index('a')], demands({ b: equals(1) }), undefined],
    ['nothing for a part of a path', [index('a')], demands({ 'a.b': equals(1) }), undefined],
    ['the path that is asked for', [index('b'), index('a')], demands({ a: equals(1) }), 'a exact'],
    ['none that is not ready', [index('a', { isReady: false })], demands({ a: equals(1) }), undefined],
    ['none that does not know all items', [index('a', { hasGaps: true })], demands({ a: equals(1) }), undefined],
    ['a point before a range', [index('a'), index('b')], demands({ a: between, b: equals(1) }), 'b'],
    ['a range with two ends before one with one', [index('a'), index('b')], demands({ a: above, b: between }), 'b'],
    ['a prefix before a range', [index('a'), index('b')], demands({ a: between, b: { startsWith: 'x' } }), 'b'],
    ['an empty prefix after a range', [index('a'), index('b')], demands({ a: above, b: { startsWith: '' } }), 'a'],
    ['any bound before mere existence', [index('a'), index('b')], demands({ a: defined, b: { startsWith: '' } }), 'b'],
    ['several paths before one of them', [index('a'), index('a b')], demands({ a: equals(1), b: above }), 'a, b exact'],
    ['the beginning of several paths', [index('a b')], demands({ a: above }), 'a, b exact'],
    ['a point at the beginning', [index('a b')], demands({ a: equals(1) }), 'a, b exact'],
    ['not the end of several paths', [index('a b')], demands({ b: equals(1) }), undefined],
    ['points up to the last path', [index('a b')], demands({ a: equals(1), b: equals(2) }), 'a, b exact'],
    ['no second range', [index('a b')], demands({ a: between, b: equals(2) }), 'a, b'],
    ['no exactness when more is asked', [index('a')], demands({ a: equals(1), b: equals(1) }), 'a'],
    ['no exactness when the filter says more', [index('a')], demands({ a: equals(1) }, '', false), 'a'],
    ['no exactness with cut keys', [index('a', { hasCutKeys: true })], demands({ a: equals(1) }), 'a'],
    ['no exactness with a cut bound', [index('a')], demands({ a: equals('x'.repeat(300)) }), 'a'],
    ['no exactness through a list', [index('tags[]')], demands({ 'tags[]': equals(1) }), 'tags[]'],
    ['one range for each value', [index('a')], demands({ a: [equals(1), equals(2), equals('x')] }), 'a exact 3 ranges'],
    ['one range for equal values', [index('a')], demands({ a: [equals(1), equals(1), equals(1)] }), 'a exact'],
    [
      'no range for an impossible bound',
      [index('a')],
      demands({ a: { min: 5, minInclusive: true, max: 1, maxInclusive: true } }),
      'a exact 0 ranges',
    ],
    ['an order alone', [index('a')], demands({}, 'a'), 'a ordered exact'],
    ['its opposite', [index('a')], demands({}, '-a'), 'a reverse exact'],
    ['the opposite order', [index('a b')], demands({}, 'a b'), 'a, b ordered exact'],
    ['an order of several paths', [index('a -b')], demands({}, '-a b'), 'a, b DESC reverse exact'],
    ['not the opposite of one', [index('a b')], demands({}, 'a -b'), undefined],
    ['not an order of more', [index('a')], demands({}, 'a b'), undefined],
    ['not an order of less', [index('a b')], demands({}, 'a'), undefined],
    ['not an order in another sequence', [index('a b')], demands({}, 'b a'), undefined],
    ['no order of cut keys', [index('a', { hasCutKeys: true })], demands({}, 'a'), undefined],
    ['a filter with its order', [index('a'), index('b')], demands({ a: above }, 'a'), 'a ordered exact'],
    ['a narrow filter before an order', [index('a'), index('b')], demands({ a: equals(1) }, 'b'), 'a exact'],
    ['an order before mere existence', [index('a'), index('b')], demands({ a: defined }, 'b'), 'b ordered'],
    ['an order after a point', [index('a b')], demands({ a: equals(1) }, 'b'), 'a, b ordered exact'],
    ['the opposite order after a point', [index('a b')], demands({ a: equals(1) }, '-b'), 'a, b reverse exact'],
    [
      'a range in an order after a point',
      [index('a b')],
      demands({ a: equals(1), b: above }, 'b'),
      'a, b ordered exact',
    ],
    [
      'several orders after a point',
      [index('a b -c')],
      demands({ a: equals(1) }, 'b -c'),
      'a, b, c DESC ordered exact',
    ],
    ['no order after a range', [index('a b')], demands({ a: above }, 'b'), 'a, b exact'],
    [
      'no order after a point that is not the path before',
      [index('a b c')],
      demands({ a: equals(1) }, 'c'),
      'a, b, c exact',
    ],
    ['no order of fewer paths after a point', [index('a b c')], demands({ a: equals(1) }, 'b'), 'a, b, c exact'],
    [
      'no order if items with equal keys come in the other direction',
      [index('a -b')],
      demands({ a: equals(1) }, '-b'),
      'a, b DESC exact',
    ],
    [
      'that order if this direction is wanted',
      [index('a -b')],
      { ...demands({ a: equals(1) }, '-b'), isTieReversed: false },
      'a, b DESC ordered exact',
    ],
    ['no order after a cut point', [index('a b')], demands({ a: equals('x'.repeat(300)) }, 'b'), 'a, b'],
    ['the first of equals', [index('a'), index('a')], demands({ a: equals(1) }), 'a exact'],
  ]
  for (const [name, indexes, wanted, choice] of cases) {
    test(name, () => assert.equal(chosen(chooseIndex(indexes, wanted)), choice))
  }

  test('is the first of equal candidates', () => {
    const equal = [index('a'), index('a')]
    assert.equal(chooseIndex(equal, demands({ a: equals(1) }))!.index, equal[0])
  })
})

const value = fc.oneof(
  fc.constantFrom<unknown>(null, true, false, 0, 1, 2, '', 'a', 'ab', 'b', 'x'.repeat(400)),
  fc.constant([1]),
)
const document = fc.record({ a: value, b: value, c: value }, { requiredKeys: [] })
const end = fc.oneof(fc.constantFrom(0, 1, 2), fc.constantFrom('', 'a', 'ab', 'b'))
const bound: fc.Arbitrary<KeyBound> = fc.oneof(
  value.map(equals),
  fc.record({ min: end, minInclusive: fc.boolean() }),
  fc.record({ max: end, maxInclusive: fc.boolean() }),
  fc.constantFrom('', 'a', 'x').map(startsWith => ({ startsWith })),
  fc.constant(defined),
)

function satisfies(found: unknown, wanted: KeyBound): boolean {
  if ('defined' in wanted) return found !== undefined
  if ('equals' in wanted) return JSON.stringify(found) === JSON.stringify(wanted.equals)
  if ('startsWith' in wanted) return typeof found === 'string' && found.startsWith(wanted.startsWith)
  const isOfType = (other: unknown) => typeof found === typeof other
  if (
    'min' in wanted &&
    !(isOfType(wanted.min) && (found! > wanted.min! || (wanted.minInclusive && found === wanted.min)))
  )
    return false
  return (
    !('max' in wanted) ||
    (isOfType(wanted.max) && (found! < wanted.max! || (wanted.maxInclusive && found === wanted.max)))
  )
}

describe('the ranges', () => {
  const shapes = ['a', 'a b', 'a -b', 'a -b c', 'b a']
  const law = (check: (choice: IndexChoice, isWanted: boolean, isInside: boolean) => void) =>
    fc.assert(
      fc.property(
        fc.constantFrom(...shapes),
        fc.record({ a: fc.array(bound, { maxLength: 3 }), b: fc.array(bound, { maxLength: 3 }) }, { requiredKeys: [] }),
        fc.array(document, { maxLength: 30 }),
        (shape, filter, documents) => {
          const given = Object.fromEntries(Object.entries(filter).filter(([, bounds]) => bounds!.length > 0)) as Record<
            string,
            KeyBound[]
          >
          const isCut = documents.some(each => indexKeys(index(shape).definition, each).isCut)
          const choice = chooseIndex([index(shape, { hasCutKeys: isCut })], demands(given))
          if (choice === undefined) return
          for (const each of documents) {
            const isWanted = Object.entries(given).every(([path, bounds]) =>
              bounds.some(one => satisfies((each as Record<string, unknown>)[path], one)),
            )
            const isInside = indexKeys(choice.index.definition, each).keys.some(key =>
              choice.keys.some(({ low, high }) => Buffer.compare(key, low) >= 0 && Buffer.compare(key, high) < 0),
            )
            check(choice, isWanted, isInside)
          }
        },
      ),
      { numRuns: 2000 },
    )

  test('hold everything that is wanted', () => {
    law((_, isWanted, isInside) => assert.ok(!isWanted || isInside))
  })

  test('hold nothing else when they are exact', () => {
    law(({ isExact }, isWanted, isInside) => assert.ok(!isExact || isInside === isWanted))
  })

  test('are in order and do not overlap', () => {
    law(({ keys }) => {
      for (const [at, { low, high }] of keys.entries()) {
        assert.ok(Buffer.compare(low, high) < 0)
        if (at > 0) assert.ok(Buffer.compare(keys[at - 1]!.high, low) <= 0)
      }
    })
  })
})

describe('the recommended index', () => {
  const cases: readonly (readonly [name: string, wanted: Demands, wish: string | undefined])[] = [
    ['nothing without demands', demands({}), undefined],
    ['the narrowest demand', demands({ a: above, b: equals(1), c: between }), '/b/?'],
    ['an order rather than mere existence', demands({ a: defined }, 'b'), '/b/?'],
    ['a filter rather than an order', demands({ a: above }, 'b'), '/a/?'],
    ['an order, ascending in any case', demands({}, '-b'), '/b/?'],
    ['no order of several paths', demands({}, 'a b'), undefined],
    ['existence, if nothing else is asked for', demands({ a: defined }), '/a/?'],
    ['the elements of a list', demands({ 'tags[]': equals('x') }), '/tags/[]/?'],
  ]
  for (const [name, wanted, wish] of cases) {
    test(name, () => {
      const found = wishedIndex(wanted)
      assert.equal(found && describeIndex([found]), wish)
    })
  }
})

test('an index starts ascending; the other components are turned with the first', () => {
  const turned = (paths: string) => describeIndex(ascendingFirst(paths.split(' ').map(component)))
  assert.equal(turned('a -b'), '/a/?, /b/? DESC')
  assert.equal(turned('-a b -c'), '/a/?, /b/? DESC, /c/?')
  assert.deepEqual(ascendingFirst([]), [])
})
