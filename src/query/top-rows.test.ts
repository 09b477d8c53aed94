/** The first rows by sort key are the same ones, whatever the order in which they arrive. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { queryMemoryBytesMax } from '../base/limits.ts'
import type { Program } from './program.ts'
import { identityBytes } from './sort-key.ts'
import { TopRows } from './top-rows.ts'

function sortKeyOf(text: string, identity = ''): Buffer {
  return Buffer.concat([Buffer.from(text), Buffer.alloc(identityBytes, identity.padEnd(1, '-'))])
}

function top(distinct: Program['distinct'], rowsMax: number, sortKeys: readonly Buffer[]): unknown[] {
  const rows = new TopRows(rowsMax, distinct)
  for (const [at, sortKey] of sortKeys.entries()) rows.add(sortKey, at, sortKey.length)
  return rows.rows().map(({ value }) => value)
}

const letters = fc.array(fc.constantFrom(...'abcdefghij'), { maxLength: 400, size: 'max' })

describe('rows by sort key', () => {
  test('are the first ones, in order; rows with equal sort keys stay in arrival order', () => {
    fc.assert(
      fc.property(letters, fc.integer({ min: 1, max: 50 }), (list, rowsMax) => {
        const expected = list
          .map((letter, at) => ({ letter, at }))
          .toSorted((a, b) => (a.letter < b.letter ? -1 : a.letter > b.letter ? 1 : a.at - b.at))
        const found = top(
          undefined,
          rowsMax,
          list.map(letter => sortKeyOf(letter)),
        )
        assert.deepEqual(
          found,
          expected.slice(0, rowsMax).map(({ at }) => at),
        )
      }),
    )
  })

  test('without duplicates are one for each sort key', () => {
    fc.assert(
      fc.property(letters, fc.integer({ min: 1, max: 12 }), (list, rowsMax) => {
        const found = top(
          'sortKey',
          rowsMax,
          list.map(letter => sortKeyOf(letter)),
        )
        const different = [...new Set(list)].sort().slice(0, rowsMax)
        assert.deepEqual(
          found.map(at => list[at as number]),
          different,
        )
      }),
    )
  })

  test('without duplicates by identity are one for each identity, the one with the lowest sort key', () => {
    const identified = fc.array(fc.tuple(fc.constantFrom(...'abcdef'), fc.constantFrom(...'12345')), {
      maxLength: 300,
      size: 'max',
    })
    fc.assert(
      fc.property(identified, list => {
        const found = top(
          'identity',
          Number.POSITIVE_INFINITY,
          list.map(([letter, identity]) => sortKeyOf(letter, identity)),
        )
        const first = new Map<string, string>()
        for (const [letter, identity] of list) {
          const known = first.get(identity)
          if (known === undefined || letter < known) first.set(identity, letter)
        }
        const expected = [...first].map(([identity, letter]) => letter + identity).sort()
        assert.deepEqual(
          found.map(at => list[at as number]!.join('')),
          expected,
        )
      }),
    )
  })
})

test('arrival numbers continue although rows were cut', () => {
  const rows = new TopRows(2, undefined)
  for (let at = 0; at < 200; at++) rows.add(sortKeyOf(String(999 - at)), at, 1)
  assert.deepEqual(
    rows.rows().map(({ arrival }) => arrival),
    [199, 198],
  )
})

test('rows that need too much memory are refused, but not if only a few of them are kept', () => {
  const large = queryMemoryBytesMax / 4
  const few = new TopRows(2, undefined)
  for (let at = 0; at < 20; at++) few.add(sortKeyOf(String(at)), at, large)
  assert.equal(few.rows().length, 2)
  const many = new TopRows(10, undefined)
  assert.throws(() => {
    for (let at = 0; at < 20; at++) many.add(sortKeyOf(String(at)), at, large)
  }, /needs more than \d+ bytes of memory/)
})
