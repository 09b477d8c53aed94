/** Tests of the table of a query: it is printed while rows arrive, and nothing is left out unsaid. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { queryTable } from './query-table.ts'

const now = 1_800_000_000

async function* batchesOf(...batches: readonly object[][]): AsyncGenerator<string[]> {
  for (const rows of batches) yield rows.map(row => JSON.stringify(row))
}

async function tableOf(...batches: readonly object[][]): Promise<string> {
  let text = ''
  for await (const piece of queryTable(batchesOf(...batches), now)) text += piece
  return text
}

const rowsOf = (count: number, row: object) => Array.from({ length: count }, () => row)

test('rows are printed as they arrive: no more of them are held than the first ones', async () => {
  let asked = 0
  const endless = (async function* () {
    for (;;) {
      asked++
      yield rowsOf(100, { id: 'a' }).map(row => JSON.stringify(row))
    }
  })()
  const table = queryTable(endless, now)
  assert.equal(String((await table.next()).value).split('\n').length, 1 + 200 + 1)
  assert.equal(asked, 2)
  for (let batch = 3; batch < 500; batch++) {
    assert.equal(String((await table.next()).value).split('\n').length, 100 + 1)
    assert.equal(asked, batch)
  }
  await table.return(undefined)
})

test('the first rows give the widths, and a longer cell later is not cut to them', async () => {
  const text = await tableOf(rowsOf(200, { id: 'ab', n: 1 }), [{ id: 'abcdef', n: 10 }])
  const lines = text.split('\n')
  assert.deepEqual(lines.slice(0, 2), ['id  n', 'ab  1'])
  assert.deepEqual(lines.slice(-3), ['abcdef  10', '201 rows', ''])
})

test('columns that only later rows have are named, and few of very many', async () => {
  const first = rowsOf(200, { id: 'a' })
  assert.match(
    await tableOf(first, [{ id: 'b', more: 1, _rid: 'x' }]),
    /\n201 rows\nNot shown, because the first 200 rows have none: more\. See --output jsonl\.\n$/,
  )
  const many = Array.from({ length: 50 }, (_, at) => ({ [`c${at}`]: 1 }))
  assert.match(await tableOf(first, many), /have none: c0, c1, .*, c9 and others\. See --output jsonl\.\n$/)
})

test('rows that are no objects, or have nothing to show, are counted as well', async () => {
  assert.equal(await tableOf([['a'], ['b']]), 'value\n["a"]\n["b"]\n2 rows\n')
  assert.equal(await tableOf([{}, { _rid: 'x' }]), '2 rows\n')
  assert.equal(await tableOf(), '0 rows\n')
})

test('a number that JavaScript would round stays as it is written', async () => {
  const rows = (async function* () {
    yield ['{"n":12345678901234567890}', '{"n":{"$numberLong":"9007199254740993"}}']
  })()
  let text = ''
  for await (const piece of queryTable(rows, now)) text += piece
  assert.equal(text, 'n\n12345678901234567890\n9007199254740993\n2 rows\n')
})

test('only what can be a time is told as one', async () => {
  const row = { _ts: now - 5, deadline: 7, expiresAt: now * 1000, at: { $date: 'some day' } }
  assert.equal(
    await tableOf([row]),
    `_ts                            deadline      expiresAt  at\n` +
      `2027-01-15T07:59:55Z, 5 s ago         7  1800000000000  {"$date":"some day"}\n1 row\n`,
  )
})
