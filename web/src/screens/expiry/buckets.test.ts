import assert from 'node:assert/strict'
import { test } from 'node:test'
import { deathsIn, deathsWithin, moved, nearest, snapped } from './buckets.ts'

const buckets = Array.from({ length: 10 }, (_, n) => ({
  start: 1000 + n * 60,
  end: 1060 + n * 60,
  inherited: n,
  own: 1,
}))

test('deaths are added up over whole bars only', () => {
  assert.deepEqual(deathsIn(buckets, { from: 1060, to: 1180 }), { inherited: 3, own: 2 })
  assert.deepEqual(deathsIn(buckets, { from: 1061, to: 1180 }), { inherited: 2, own: 1 })
  assert.equal(deathsWithin(buckets, 60), 1)
  assert.equal(deathsWithin([], 60), 0)
})

test('a brush covers the bars that it touches', () => {
  assert.deepEqual(snapped(buckets, { from: 1070, to: 1130 }), { from: 1060, to: 1180 })
  assert.deepEqual(snapped(buckets, { from: 1070, to: 1070 }), { from: 1060, to: 1120 })
  assert.deepEqual(snapped(buckets, { from: 0, to: 9999 }), { from: 1000, to: 1600 })
  assert.equal(snapped(buckets, { from: 1600, to: 1700 }), undefined)
})

test('a span of an address stays as wide as it was while the bars move on', () => {
  assert.deepEqual(nearest(buckets, { from: 1060, to: 1180 }), { from: 1060, to: 1180 })
  assert.deepEqual(nearest(buckets, { from: 1055, to: 1175 }), { from: 1060, to: 1180 })
  assert.deepEqual(nearest(buckets, { from: 900, to: 1175 }), { from: 1000, to: 1180 })
  assert.deepEqual(nearest(buckets, { from: 1590, to: 1595 }), { from: 1540, to: 1600 })
  assert.equal(nearest(buckets, { from: 900, to: 1000 }), undefined)
  assert.equal(nearest([], { from: 900, to: 1000 }), undefined)
})

test('a handle moves by whole bars, and neither passes the other one nor leaves the chart', () => {
  const span = { from: 1060, to: 1180 }
  assert.deepEqual(moved(buckets, span, 'from', 1), { from: 1120, to: 1180 })
  assert.deepEqual(moved(buckets, span, 'from', 5), { from: 1120, to: 1180 })
  assert.deepEqual(moved(buckets, span, 'from', -5), { from: 1000, to: 1180 })
  assert.deepEqual(moved(buckets, span, 'to', -1), { from: 1060, to: 1120 })
  assert.deepEqual(moved(buckets, span, 'to', 100), { from: 1060, to: 1600 })
})
