/** Each cell of docs/comparison.md names its source, and each source is told. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { textOf } from '../support/source-tree.ts'

const page = textOf('docs/comparison.md')
const rows = page.match(/^\|.*\|$/gm)!.map(line =>
  line
    .slice(1, -1)
    .split('|')
    .map(cell => cell.trim()),
)
const told = new Map([...page.matchAll(/^\[(\w+)\]: (\S+)$/gm)].map(([, number, target]) => [number!, target!]))
/** Rows of the table of sources begin with a number. */
const isSource = ([first]: readonly string[]) => /^\d+$/.test(first!)

test('each cell of the comparison has a source, or is left out', () => {
  const compared = rows.filter(cells => cells.length === 7 && cells[0] !== '' && !cells[0]!.startsWith('---'))
  assert.ok(compared.length >= 8)
  const bare = compared.flatMap(cells => cells.slice(1)).filter(cell => !/^$|\[\[\d+\]\]$/.test(cell))
  assert.deepEqual(bare, [])
})

test('each number of a source is explained, links somewhere, and is used', () => {
  const used = new Set([...page.matchAll(/\[\[(\d+)\]\]/g)].map(([, number]) => number!))
  const explained = new Set(rows.filter(isSource).map(([number]) => number!))
  assert.deepEqual([...used].sort(), [...explained].sort())
  for (const number of used) assert.ok(told.has(number), number)
})

test('what is said of other projects links to a version or a thread, or says when the page was read', () => {
  const rowOf = new Map(rows.filter(isSource).map(([number, source]) => [number!, source!]))
  const isLasting = (target: string) => /\/(blob|tree)\/[0-9a-f]{40}(\/|$)|\/issues\/\d+$/.test(target)
  const moving = [...told]
    .filter(([, target]) => target.startsWith('http') && !isLasting(target))
    .filter(([number]) => !/\(read \d{4}-\d{2}\)/.test(rowOf.get(number) ?? ''))
  assert.deepEqual(moving, [])
})
