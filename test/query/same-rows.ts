/** Checks rows against what a query may return: in its order, or in any order if it has none. */

import assert from 'node:assert/strict'
import { canonicalKey } from '../../src/sql/values/compare.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import { reference } from './fixture.ts'
import { parameters, printQuery, printWhole, printWithKeys, type RandomQuery } from './random-query.ts'

/** How often each row occurs, by its text. */
function tally(rows: readonly SqlValue[]): Map<string, number> {
  const counts = new Map<string, number>()
  for (const row of rows) counts.set(canonicalKey(row), (counts.get(canonicalKey(row)) ?? 0) + 1)
  return counts
}

function assertAmong(actual: readonly SqlValue[], expected: readonly SqlValue[], what: string): void {
  const counts = tally(expected)
  for (const [row, count] of tally(actual)) assert.ok(count <= (counts.get(row) ?? 0), `${what}: ${row} is surplus`)
}

/**
 * Compares with the naive executor over the same items, given in the order of creation. Rows with equal order
 * keys follow their items, unless a client merges them from several partitions.
 */
export function assertGives(
  query: RandomQuery,
  actual: readonly SqlValue[],
  items: readonly SqlValue[],
  what: string,
  { isMerged = false } = {},
): void {
  const text = printQuery(query)
  const about = `${what}: ${text}`
  const isReverse = query.orderBy[0]?.isDescending === true
  // In the order of creation, reversed if the first key descends.
  const expected = reference(text, isReverse ? items.toReversed() : items, { parameters })
  assert.equal(actual.length, expected.length, `${about}\n${JSON.stringify(actual)}\n${JSON.stringify(expected)}`)
  const isOrdered = query.orderBy.length > 0 && !isAggregate(query)
  if (isOrdered && query.isPerItem && !query.isDistinct && !isMerged) {
    assert.deepEqual(actual.map(canonicalKey), expected.map(canonicalKey), about)
  } else if (isOrdered) {
    assertInOrder(query, actual, items, about)
  } else if (query.top !== undefined || query.window !== undefined) {
    assertAmong(actual, reference(printWhole(query), items, { parameters }), about)
  } else {
    assert.deepEqual(actual.map(canonicalKey).sort(), expected.map(canonicalKey).sort(), about)
  }
}

function isAggregate({ selection }: RandomQuery): boolean {
  return /(COUNT|SUM|AVG|MIN|MAX|COUNTIF)\((?!1\) FROM t)/.test(JSON.stringify(selection))
}

interface KeyedRow {
  readonly keys: SqlValue
  readonly row: SqlValue
}

/** Rows with equal keys may come in any order, and the window may cut off any of them. */
function assertInOrder(
  query: RandomQuery,
  actual: readonly SqlValue[],
  items: readonly SqlValue[],
  about: string,
): void {
  const keyed = reference(printWithKeys(query), items, { parameters }) as unknown as KeyedRow[]
  const seen = new Set<string>()
  const rows = keyed.filter(({ row }) => {
    const isNew = !query.isDistinct || !seen.has(canonicalKey(row))
    seen.add(canonicalKey(row))
    return row !== undefined && isNew
  })
  const first = query.window?.offset ?? 0
  for (let start = 0; start < rows.length; ) {
    const key = canonicalKey(rows[start]!.keys)
    let end = start
    while (end < rows.length && canonicalKey(rows[end]!.keys) === key) end++
    const group = rows.slice(start, end).map(({ row }) => row)
    assertAmong(actual.slice(Math.max(0, start - first), Math.max(0, end - first)), group, about)
    start = end
  }
}
