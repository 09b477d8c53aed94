import assert from 'node:assert/strict'
import { test } from 'node:test'
import { mongoOffers, namesBelow, pathBefore, sqlOffers } from './complete.ts'
import { formatSql } from './format-sql.ts'
import { resultColumns, valueIn } from './result-columns.ts'

const completion = {
  sampled: 200,
  paths: [
    { path: 'device', types: ['object'], share: 1 },
    { path: 'device.os', types: ['string'], share: 0.98 },
    { path: 'cart', types: ['array'], share: 0.5 },
    { path: 'cart[].sku', types: ['string'], share: 0.5 },
  ],
  functions: [{ name: 'ARRAY_LENGTH', signature: 'ARRAY_LENGTH(array)', family: 'array' }],
  keywords: ['SELECT'],
  operators: ['$match'],
}

test('after a dot come the names below it, elsewhere functions and keywords', () => {
  const labels = (before: string) => sqlOffers(completion, before).offers.map(({ label }) => label)
  assert.deepEqual(labels('WHERE c.'), ['device', 'cart'])
  assert.deepEqual(labels('WHERE c.device.o'), ['os'])
  assert.deepEqual(labels('WHERE c.cart[0].s'), ['sku'])
  assert.ok(labels('WHERE ARR').includes('ARRAY_LENGTH'))
  assert.equal(sqlOffers(completion, 'WHERE c.dev').typed, 3)
  assert.equal(pathBefore('c.cart[ 12 ].sku'), 'cart[]')
  assert.equal(namesBelow(completion, 'device')[0]?.detail, 'string  98 %')
})

test('names of Mongo come with their quotes; the editor has closed those that are open', () => {
  const { offers, typed } = mongoOffers(completion, '{ "dev')
  assert.equal(typed, 4)
  assert.equal(offers.find(({ label }) => label === 'device.os')?.apply, '"device.os')
  assert.equal(mongoOffers(completion, '{ $m').offers.find(({ label }) => label === '$match')?.apply, '"$match": ')
})

test('a formatted query has its clauses on lines, and its texts and comments as they were', () => {
  assert.equal(
    formatSql(
      'select c.id  from c where c.a = "x  FROM y" and c.b between 1 and 2 or (c.c = 1 and c.d = 2) order by c.id',
    ),
    [
      'select c.id',
      'from c',
      'where c.a = "x  FROM y"',
      '  and c.b between 1 and 2',
      '  or (c.c = 1 and c.d = 2)',
      'order by c.id',
    ].join('\n'),
  )
  const commented = '-- all of them\nSELECT * FROM c'
  assert.equal(formatSql(commented), '-- all of them\nSELECT *\nFROM c')
  assert.equal(formatSql(formatSql(commented)), formatSql(commented))
})

test('columns come from the rows, numbers on the right; rows that are no objects have one', () => {
  const rows = [
    { id: 'a', n: 1, _rid: 'x' },
    { id: 'b', n: null, more: {} },
  ]
  assert.deepEqual(resultColumns(rows), [
    { name: 'id', isNumber: false },
    { name: 'n', isNumber: true },
    { name: 'more', isNumber: false },
  ])
  assert.deepEqual(resultColumns([12, 7]), [{ name: 'value', isNumber: true }])
  assert.equal(valueIn(12, 'value'), 12)
})
