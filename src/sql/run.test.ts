/** Tests of running queries: streaming, windows and budgets. test/languages tests what queries mean. */

import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { fc } from '../../test/support/property.ts'
import { machine } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { itemSlot } from './compile/compiled.ts'
import { rowOrder } from './compile/row-sorter.ts'
import { prepareQuery } from './prepare.ts'
import { createFrame, QueryRun, runQuery, runQueryOver } from './run.ts'
import { compareValues } from './values/compare.ts'
import { queryGroupsMax } from './values/run-context.ts'
import type { SqlValue } from './values/value.ts'

const options = { momentMs: 0 }

function rows(text: string, items: Iterable<SqlValue>): SqlValue[] {
  return runQueryOver(prepareQuery(text), options, items)
}

function* numbers(count: number): Generator<SqlValue> {
  for (let id = 0; id < count; id += 1) yield { id }
}

describe('a stream of items', () => {
  test('gives rows as soon as they are certain', () => {
    const run = new QueryRun(prepareQuery('SELECT VALUE c.id FROM c WHERE c.id > 0'), options)
    assert.deepEqual([run.accept({ id: 0 }), run.accept({ id: 1 }), run.finish()], [[], [1], []])
  })

  test('holds rows back while an order or a group needs the rest', () => {
    const run = new QueryRun(prepareQuery('SELECT VALUE c.id FROM c ORDER BY c.id'), options)
    assert.deepEqual([run.accept({ id: 2 }), run.accept({ id: 1 }), run.finish()], [[], [], [1, 2]])
  })

  test('is read no further than TOP needs, and then closed', async () => {
    let read = 0
    let isClosed = false
    async function* source(): AsyncGenerator<SqlValue> {
      try {
        for (const item of numbers(1000)) {
          read += 1
          yield item
        }
      } finally {
        isClosed = true
      }
    }
    const found: SqlValue[] = []
    for await (const row of runQuery(prepareQuery('SELECT TOP 3 VALUE c.id FROM c'), options, source())) found.push(row)
    assert.deepEqual({ found, read, isClosed }, { found: [0, 1, 2], read: 3, isClosed: true })
  })

  test('is not read at all by a query without FROM, or with TOP 0', () => {
    const unreadable: Iterable<SqlValue> = {
      [Symbol.iterator]: () => assert.fail('the items were read'),
    }
    assert.deepEqual(rows('SELECT VALUE 1', unreadable), [1])
    assert.deepEqual(rows('SELECT TOP 0 * FROM c', unreadable), [])
    assert.deepEqual(rows('SELECT * FROM c OFFSET 5 LIMIT 0', unreadable).length, 0)
  })
})

test('one prepared query can run many times at once', () => {
  const prepared = prepareQuery('SELECT c.k, COUNT(1) AS n FROM c GROUP BY c.k')
  const [first, second] = [new QueryRun(prepared, options), new QueryRun(prepared, options)]
  first.accept({ k: 1 })
  second.accept({ k: 2 })
  first.accept({ k: 1 })
  assert.deepEqual(second.finish(), [{ k: 2, n: 1 }])
  assert.deepEqual(first.finish(), [{ k: 1, n: 2 }])
})

test('the compiled parts can be used separately', () => {
  const prepared = prepareQuery('SELECT VALUE c.name FROM c WHERE c.age > 1 ORDER BY c.age DESC, c.name')
  const { bindRows, filter, orderKeys, project } = prepared.select
  const frame = createFrame(prepared, options)
  const found: { keys: SqlValue[]; row: SqlValue }[] = []
  for (const item of [
    { name: 'b', age: 2 },
    { name: 'a', age: 2 },
    { name: 'c', age: 1 },
    { name: 'd', age: 9 },
  ]) {
    frame.values[itemSlot] = item
    bindRows(frame, () => {
      if (filter?.(frame) === true) found.push({ keys: orderKeys.map(key => key.evaluate(frame)), row: project(frame) })
      return true
    })
  }
  const order = rowOrder(orderKeys)
  assert.deepEqual(
    found.sort((left, right) => order(left.keys, right.keys)).map(({ row }) => row),
    ['d', 'a', 'b'],
  )
})

describe('against plain JavaScript', () => {
  const item = fc.record(
    { a: fc.jsonValue({ maxDepth: 1 }), b: fc.integer({ min: 0, max: 3 }), c: fc.integer() },
    { requiredKeys: ['b', 'c'] },
  ) as fc.Arbitrary<{ a?: SqlValue; b: number; c: number }>
  const items = fc.array(item, { maxLength: 200 })

  test('the first rows of an order are those of the whole order', () => {
    fc.assert(
      fc.property(items, fc.nat(10), fc.nat(10), (list, offset, limit) => {
        const query = `SELECT * FROM c ORDER BY c.b DESC, c.c OFFSET ${offset} LIMIT ${limit}`
        const sorted = [...list].sort((left, right) => right.b - left.b || left.c - right.c)
        assert.deepEqual(rows(query, list), sorted.slice(offset, offset + limit))
      }),
      { numRuns: 300 },
    )
  })

  test('ordering by one path leaves out items without it', () => {
    fc.assert(
      fc.property(items, list => {
        const sorted = list.filter(({ a }) => a !== undefined).sort((left, right) => compareValues(left.a, right.a))
        assert.deepEqual(rows('SELECT * FROM c ORDER BY c.a', list), sorted)
      }),
      { numRuns: 300 },
    )
  })

  test('groups count like a Map, in the order of their keys', () => {
    fc.assert(
      fc.property(items, list => {
        const counts = new Map<number, { k: number; n: number; s: number }>()
        for (const { b, c } of list) {
          const group = counts.get(b) ?? { k: b, n: 0, s: 0 }
          counts.set(b, { k: b, n: group.n + 1, s: group.s + c })
        }
        const query = 'SELECT c.b AS k, COUNT(1) AS n, SUM(c.c) AS s FROM c GROUP BY c.b'
        assert.deepEqual(
          rows(query, list),
          [...counts.values()].sort((a, b) => a.k - b.k),
        )
      }),
      { numRuns: 300 },
    )
  })
})

describe('budgets end a query with a clear error', () => {
  const cases: readonly (readonly [string, string, () => Iterable<SqlValue>, RegExp])[] = [
    [
      'a product of JOINs',
      'SELECT VALUE COUNT(1) FROM c JOIN a IN c.x JOIN b IN c.x JOIN d IN c.x',
      () => [{ x: Array(200).fill(1) }],
      /JOINs of the query make more than/,
    ],
    [
      'a product of subqueries',
      'SELECT VALUE COUNT(1) FROM c WHERE EXISTS(SELECT VALUE 1 FROM a IN c.x JOIN b IN c.x JOIN d IN c.x WHERE a = 2)',
      () => [{ x: Array(200).fill(1) }],
      /more than/,
    ],
    ['too many groups', 'SELECT c.id FROM c GROUP BY c.id', () => numbers(queryGroupsMax + 1), /more than \d+ groups/],
    [
      'sorting more than the memory holds',
      'SELECT * FROM c ORDER BY c.id',
      function* () {
        const body = 'x'.repeat(1_000_000)
        for (let id = 0; id < 300; id += 1) yield { id, body }
      },
      /bytes of memory/,
    ],
    [
      'collecting more than the memory holds',
      'SELECT VALUE MAKELIST(c.body) FROM c',
      function* () {
        const body = 'x'.repeat(1_000_000)
        for (let id = 0; id < 300; id += 1) yield { id, body }
      },
      /bytes of memory/,
    ],
    [
      'a row that is larger than an answer may be',
      `SELECT VALUE [${Array(50).fill('c').join(', ')}] FROM c`,
      () => [{ body: 'x'.repeat(1_000_000) }],
      /makes a value larger/,
    ],
  ]
  for (const [name, query, items, message] of cases) {
    test(name, () => {
      assert.throws(
        () => rows(query, items()),
        (error: unknown) => error instanceof RequestError && message.test(error.message),
      )
    })
  }

  test('but a bounded sort of the same items is accepted', () => {
    const body = 'x'.repeat(1_000_000)
    const items = Array.from({ length: 400 }, (_, id) => ({ id, body }))
    assert.deepEqual(
      rows('SELECT TOP 2 VALUE c FROM c ORDER BY c.id DESC', items).map(row => (row as { id: number }).id),
      [399, 398],
    )
  })

  test('and the memory of subqueries is released after each item', () => {
    const tags = Array.from({ length: 100 }, (_, index) => `${index}`.padEnd(1000, 'x'))
    const items = Array.from({ length: 3000 }, () => ({ tags }))
    const query = 'SELECT VALUE ARRAY_LENGTH(ARRAY(SELECT DISTINCT VALUE t FROM t IN c.tags)) FROM c'
    assert.equal(rows(query, items).length, 3000)
  })
})

test('long chains are compiled and run without recursion per term', () => {
  const start = machine.monotonicMs()
  const terms = Array.from({ length: 9000 }, (_, index) => `c.id = ${index}`)
  assert.deepEqual(rows(`SELECT VALUE c.id FROM c WHERE ${terms.join(' OR ')}`, [{ id: 8999 }, { id: -1 }]), [8999])
  assert.deepEqual(rows(`SELECT VALUE c.id FROM c WHERE NOT (${terms.join(' AND ')})`, [{ id: 1 }]), [1])
  const list = Array.from({ length: 30_000 }, (_, index) => index)
  assert.deepEqual(rows(`SELECT VALUE c.id FROM c WHERE c.id IN (${list.join(', ')})`, [{ id: 29_999 }]), [29_999])
  assert.ok(machine.monotonicMs() - start < 2000)
})

test('user-defined functions are called through the hook', () => {
  const prepared = prepareQuery('SELECT VALUE udf.double(c.a) FROM c')
  const called: [string, readonly SqlValue[]][] = []
  const callUserDefined = (name: string, values: readonly SqlValue[]): SqlValue => {
    called.push([name, values])
    return (values[0] as number) * 2
  }
  assert.deepEqual(runQueryOver(prepared, { ...options, callUserDefined }, [{ a: 2 }]), [4])
  assert.deepEqual(called, [['double', [2]]])
})

test('RAND takes its numbers from the host', () => {
  const random = () => 0.25
  assert.deepEqual(runQueryOver(prepareQuery('SELECT VALUE RAND()'), { ...options, random }, []), [0.25])
})
