/** A page continues after the last sort key that was returned, however long that key is. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { Boundary, positionAfter, type SortKeyPosition, sortKeyBytesMax } from './boundary.ts'
import { tieOf } from './sort-key.ts'
import type { KeyedRow } from './top-rows.ts'

function rowOf(key: string, sequence: number): KeyedRow {
  return {
    sortKey: Buffer.concat([Buffer.from(key), tieOf(sequence, 0, false)]),
    value: `${key.slice(-3)}#${sequence}`,
    bytes: 0,
    arrival: 0,
  }
}

function inOrder(rows: readonly KeyedRow[]): KeyedRow[] {
  return rows.toSorted((a, b) => Buffer.compare(a.sortKey, b.sortKey))
}

/** Through JSON, as in a token. */
function boundaryOf(position: SortKeyPosition): Boundary {
  return Boundary.of(JSON.parse(JSON.stringify(position)))!
}

const stem = 'x'.repeat(2 * sortKeyBytesMax)
const keys = ['a', 'b', 'x', stem, `${stem}a`, `${stem}b`, `${stem}ba`, `${stem}c`, 'y']

function values(rows: readonly KeyedRow[]): unknown[] {
  return rows.map(({ value }) => value)
}

test('all pages together are the whole result, for any page size and sort keys of any length', () => {
  fc.assert(
    fc.property(
      fc.array(fc.constantFrom(...keys), { minLength: 1, maxLength: 40 }),
      fc.integer({ min: 1, max: 5 }),
      (list, size) => {
        const rows = inOrder(list.map((key, sequence) => rowOf(key, sequence)))
        const walked: KeyedRow[] = []
        let before: Boundary | undefined
        for (;;) {
          const rest = before === undefined ? rows : before.rest(rows)
          walked.push(...rest.slice(0, size))
          if (rest.length <= size) break
          before = boundaryOf(positionAfter(rest, size, before))
        }
        assert.deepEqual(values(walked), values(rows))
      },
    ),
  )
})

test('a position is short, however long its sort key is', () => {
  for (const key of keys) {
    const text = JSON.stringify(positionAfter([rowOf(key, 1)], 1, undefined))
    assert.ok(text.length < 4 + (sortKeyBytesMax * 4) / 3 + 100, text)
  }
})

describe('rows whose sort keys start alike', () => {
  const all = inOrder([...keys, ...keys].map((key, sequence) => rowOf(key, sequence)))
  const at = all.findIndex(({ value }) => value === 'xba#6')

  test('are told apart while a row with the last order key exists', () => {
    const boundary = boundaryOf(positionAfter(all, at + 1, undefined))
    // The last row is gone, and so is one returned before it; new rows are on both sides.
    const given = all.slice(0, at + 1)
    const left = all.filter(row => !given.slice(-2).includes(row))
    const present = inOrder([...left, rowOf(`${stem}a`, 100), rowOf(`${stem}bb`, 101)])
    const expected = [...all.slice(at + 1), rowOf(`${stem}bb`, 101)]
    assert.deepEqual(values(boundary.rest(present)), values(inOrder(expected)))
  })

  test('are counted when no such row is left', () => {
    const boundary = boundaryOf(positionAfter(all, at + 1, undefined))
    const present = all.filter(({ value }) => !String(value).startsWith('xba#'))
    assert.deepEqual(values(boundary.rest(present)), values(all.slice(at + 2)))
  })

  test('are counted over several pages', () => {
    const first = boundaryOf(positionAfter(all, at - 1, undefined))
    const rest = first.rest(all)
    const second = boundaryOf(positionAfter(rest, 2, first))
    const present = all.filter(({ value }) => !String(value).startsWith('xba#'))
    assert.deepEqual(values(second.rest(present)), values(all.slice(at + 2)))
  })

  test('are undecided at first; others are not', () => {
    const boundary = boundaryOf(positionAfter(all, at + 1, undefined))
    assert.equal(boundary.isWhole, false)
    assert.ok(boundary.compare(rowOf('a', 1).sortKey) < 0)
    assert.equal(boundary.compare(rowOf(`${stem}zzz`, 1).sortKey), 0)
    assert.ok(boundary.compare(rowOf('y', 1).sortKey) > 0)
    const whole = boundaryOf(positionAfter([rowOf('b', 5)], 1, undefined))
    assert.equal(whole.isWhole, true)
    assert.ok(whole.compare(rowOf('b', 5).sortKey) < 0, 'the last row returned is not returned again')
    assert.ok(whole.compare(rowOf('b', 6).sortKey) > 0)
  })
})
