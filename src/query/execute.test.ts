/** Tests of pages, with a source and a program made of lists: their rows, and where they continue. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { toEpochSeconds } from '../base/clock.ts'
import { textOf } from '../document/body.ts'
import type { StoredItem } from '../store/item.ts'
import type { Viewpoint } from '../store/policy.ts'
import { executePage, type Page, type PagePosition } from './execute.ts'
import type { Program } from './program.ts'
import { identityBytes, tieOf } from './sort-key.ts'
import type { ItemSource } from './source.ts'

const moment = toEpochSeconds(1000)
const at: Viewpoint = { moment, policy: { defaultTtl: null, inheritedDeadAt: 0, ownDeadAt: 0 } }

/** Items by sequence; each body holds the item's rows. */
function listSource(
  bodies: readonly (readonly unknown[])[],
  { batch = 3, isOrdered = false } = {},
): ItemSource & { reads: number } {
  const source = {
    reads: 0,
    read: (after: readonly (string | number)[] | undefined, from: Viewpoint, itemsMax: number) => {
      assert.equal(from, at, 'one moment for the whole page')
      const start = after === undefined ? 0 : Number(after[0]) + 1
      const end = Math.min(start + Math.min(batch, itemsMax), bodies.length)
      source.reads += end - start
      const items = bodies.slice(start, end).map((rows, offset) => {
        const item = { sequence: start + offset, version: 1, ts: moment, deadline: null, body: JSON.stringify(rows) }
        return item as StoredItem
      })
      return {
        version: 7,
        items,
        positionOf: (index: number) => [start + index],
        next: end < bodies.length ? [end - 1] : undefined,
      }
    },
    ...(isOrdered && {
      positionBefore: (sortKey: Uint8Array) => [Buffer.from(sortKey).readUIntBE(sortKey.length - 10, 6) - 1],
    }),
  }
  return source
}

const window = { first: 0, end: Number.POSITIVE_INFINITY }

function inSourceOrder(part: Partial<Program> = {}): Program {
  return {
    order: 'source',
    distinct: undefined,
    prefersArrival: false,
    ...window,
    accept: ({ document }, emit) => void (document as unknown[]).every(row => emit(row, undefined)),
    finish: () => {},
    ...part,
  }
}

/** Rows are numbers. The sort key is the number, then item and row; or only the identity. */
function bySortKey(part: Partial<Program> = {}): Program {
  const sortKeyOf = (row: unknown, sequence: number, rowOfItem: number) => {
    const tie =
      part.distinct === undefined ? tieOf(sequence, rowOfItem, false) : Buffer.alloc(identityBytes, String(row))
    return Buffer.concat([Buffer.from(String(row).padStart(5, '0')), tie])
  }
  return {
    order: 'sortKey',
    distinct: undefined,
    prefersArrival: false,
    ...window,
    accept: ({ sequence, document }, emit) =>
      void (document as unknown[]).every((row, at) => emit(row, sortKeyOf(row, sequence, at))),
    finish: () => {},
    ...part,
  }
}

function pageOf(source: ItemSource, program: Program, rowsMax: number, position?: PagePosition): Promise<Page> {
  return executePage({ source, program, at, position, rowsMax, bytesMax: 1e9 })
}

interface Limits {
  readonly rowsMax?: number
  readonly bytesMax?: number
}

/** The rows of each page. */
async function walk(source: () => ItemSource, program: () => Program, { rowsMax = 1000, bytesMax = 1e9 }: Limits = {}) {
  const pages: string[][] = []
  let position: PagePosition | undefined
  do {
    const page: Page = await executePage({
      source: source(),
      program: program(),
      at,
      position: position === undefined ? undefined : JSON.parse(JSON.stringify(position)),
      rowsMax,
      bytesMax,
    })
    assert.equal(page.statistics.rowsOut, page.rows.length)
    pages.push(page.rows.map(textOf))
    position = page.next
    assert.ok(pages.length < 500, 'a walk comes to an end')
  } while (position !== undefined)
  return pages
}

const bodies = fc.array(fc.array(fc.nat(9), { maxLength: 4 }), { maxLength: 12 })
const sizes = fc.record({ rowsMax: fc.integer({ min: 1, max: 6 }), bytesMax: fc.constantFrom(1, 3, 1e9) })
const cut = fc
  .record({ first: fc.nat(5), length: fc.nat(12) })
  .map(({ first, length }) => ({ first, end: length === 0 ? 0 : first + length }))

function texts(rows: readonly unknown[]): string[] {
  return rows.map(row => JSON.stringify(row))
}

describe('in source order', () => {
  test('all pages together are the window of all rows, each no larger than asked for', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, sizes, cut, async (list, limits, each) => {
        const pages = await walk(
          () => listSource(list),
          () => inSourceOrder(each),
          limits,
        )
        assert.deepEqual(pages.flat(), texts(list.flat().slice(each.first, Math.max(each.first, each.end))))
        for (const page of pages) {
          assert.ok(page.length <= limits.rowsMax)
          assert.ok(page.slice(0, -1).join('').length < limits.bytesMax, 'only the last row may be over the limit')
        }
      }),
      { numRuns: 500 },
    )
  })

  test('an item that is left in the middle continues there, also after new items that come before it', async () => {
    const before = [['a'], ['b1', 'b2', 'b3'], ['c']]
    const first = await pageOf(listSource(before), inSourceOrder(), 3)
    assert.deepEqual(first.rows, texts(['a', 'b1', 'b2']))
    // An item keeps its sequence when others are added before it.
    const renumbered = listSource([['a'], ['new'], ['b1', 'b2', 'b3'], ['c']])
    const source: ItemSource = {
      read: async (...given) => {
        const batch = await renumbered.read(...given)
        const sequences = [0, 9, 1, 2]
        return {
          ...batch,
          items: batch.items.map(item => ({ ...item, sequence: sequences[item.sequence]! })),
        }
      },
    }
    const second = await pageOf(source, inSourceOrder(), 1, first.next)
    assert.deepEqual(second.rows, texts(['new']))
    const third = await pageOf(source, inSourceOrder(), 9, second.next)
    assert.deepEqual(third.rows, texts(['b3', 'c']))
    const last = await pageOf(source, inSourceOrder(), 1, second.next)
    assert.deepEqual(last.rows, texts(['b3']))
    assert.deepEqual(last.next?.within, [[2, 0]], 'finished items are not listed')
  })

  test('a page reads no more than it needs', async () => {
    const source = listSource(
      Array.from({ length: 600 }, (_, row) => [row]),
      { batch: 1000 },
    )
    const { rows, statistics } = await pageOf(source, inSourceOrder(), 5)
    assert.equal(rows.length, 5)
    assert.equal(source.reads, 6)
    assert.equal(statistics.itemsRead, 6)
    const none = listSource([[1]])
    await pageOf(none, inSourceOrder({ end: 0 }), 5)
    assert.equal(none.reads, 0, 'and nothing for an empty window')
  })

  test('a row that is the whole item is returned as it is stored', async () => {
    const body = '{"b":1.0, "a":12345678901234567890}'
    const item = { sequence: 1, version: 1, ts: moment, deadline: null, body } as StoredItem
    const source: ItemSource = { read: () => ({ version: 3, items: [item], positionOf: () => [1], next: undefined }) }
    const whole = inSourceOrder({ accept: ({ document }, emit) => void emit(document, undefined) })
    const { rows, version, statistics } = await pageOf(source, whole, 5)
    assert.deepEqual(rows, [body])
    assert.deepEqual([version, statistics.bytesRead, statistics.bytesOut], [3, body.length, body.length])
  })
})

describe('in sort key order', () => {
  test('all pages together are the window of all rows in order', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, sizes, cut, fc.boolean(), async (list, limits, each, isOrdered) => {
        const inOrder = isOrdered
          ? list
              .flat()
              .sort()
              .map(row => [row])
          : list
        const pages = await walk(
          () => listSource(inOrder, { isOrdered }),
          () => bySortKey(each),
          limits,
        )
        assert.ok(pages.length === 1 || pages.at(-1)!.length > 0, 'no page for nothing')
        assert.deepEqual(pages.flat(), texts(list.flat().sort().slice(each.first, Math.max(each.first, each.end))))
        for (const page of pages)
          assert.ok(page.length <= limits.rowsMax && page.slice(0, -1).join('').length < limits.bytesMax)
      }),
      { numRuns: 500 },
    )
  })

  test('equal rows are returned once, by sort key or by identity, on pages of any size', async () => {
    await fc.assert(
      fc.asyncProperty(
        bodies,
        sizes,
        cut,
        fc.constantFrom('sortKey' as const, 'identity' as const),
        async (list, limits, each, distinct) => {
          const pages = await walk(
            () => listSource(list),
            () => bySortKey({ ...each, distinct }),
            limits,
          )
          const different = [...new Set(list.flat())].sort()
          assert.deepEqual(pages.flat(), texts(different.slice(each.first, Math.max(each.first, each.end))))
        },
      ),
      { numRuns: 500 },
    )
  })

  test('rows that prefer arrival order keep it if all fit; otherwise none is lost or repeated', async () => {
    await fc.assert(
      fc.asyncProperty(bodies, sizes, async (list, limits) => {
        const pages = await walk(
          () => listSource(list),
          () => bySortKey({ prefersArrival: true }),
          limits,
        )
        const rows = list.flat()
        const fits = rows.length <= limits.rowsMax && rows.length <= limits.bytesMax
        if (fits) assert.deepEqual(pages, [texts(rows)])
        else assert.deepEqual(pages.flat(), texts(rows.sort()))
      }),
      { numRuns: 500 },
    )
  })

  test('identical rows with different sort keys are returned once, whatever lies between', async () => {
    const rows = [
      ['b', 2],
      ['a', 1],
      ['b', 1],
      ['c', 3],
      ['a', 3],
      ['c', 0],
    ] as const
    const program = () =>
      bySortKey({
        distinct: 'identity',
        accept: ({ document }, emit) => {
          for (const [name, order] of document as [string, number][]) {
            emit(name, Buffer.concat([Buffer.from([order]), Buffer.alloc(identityBytes, name)]))
          }
        },
      })
    for (const rowsMax of [1, 2, 10]) {
      const pages = await walk(() => listSource([rows.slice(0, 3), rows.slice(3)]), program, { rowsMax })
      assert.deepEqual(pages.flat(), texts(['c', 'a', 'b']))
    }
  })

  test('an ordered source is read no further than the page needs, and from where the last page ended', async () => {
    const source = listSource(
      Array.from({ length: 600 }, (_, row) => [row]),
      { batch: 1000, isOrdered: true },
    )
    const first = await pageOf(source, bySortKey(), 5)
    assert.deepEqual([first.rows.length, source.reads], [5, 6])
    const second = await pageOf(source, bySortKey(), 5, first.next)
    assert.deepEqual(second.rows, texts([5, 6, 7, 8, 9]))
    assert.ok(source.reads <= 6 + 6 + 12, String(source.reads))
  })

  test('a program that is done reads no more items, and still emits its final rows', async () => {
    const source = listSource([[1], [2], [3], [4], [5], [6]])
    let seen = 0
    const program = bySortKey({
      accept: () => void seen++,
      isDone: () => seen >= 2,
      finish: emit => void emit('end', tieOf(0, 0, false)),
    })
    const { rows } = await pageOf(source, program, 5)
    assert.deepEqual([rows, seen], [texts(['end']), 2])
    const none = listSource([[1]])
    await pageOf(none, bySortKey({ isDone: () => true }), 5)
    assert.equal(none.reads, 0)
  })
})
