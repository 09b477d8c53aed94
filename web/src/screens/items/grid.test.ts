import assert from 'node:assert/strict'
import { test } from 'node:test'
import { cellText } from '../../text/cell-text.ts'
import { columnsOf, columnsParameter, firstPaths, pathName, pathOf, trackSizes } from './columns.ts'
import { moveTo, revealRow, rowOffset, rowsInView, scrollHeight } from './scroll-window.ts'
import { Selection } from './selection.ts'
import { placeAt } from './time-map.ts'

const extent = { total: 1_000_000, rowHeight: 30, viewHeight: 600 }
const top = { scrollTop: 0, listTop: 0 }

test('a million rows have a bar that browsers can make, and both of its ends show the ends of the list', () => {
  const height = scrollHeight(extent)
  assert.ok(height < 17_000_000)
  const end = moveTo(extent, top, height - 600)
  assert.deepEqual(rowsInView(extent, end).end, 1_000_000)
  assert.equal(rowsInView(extent, moveTo(extent, end, 0)).first, 0)
})

test('a wheel moves a long list by its pixels, a dragged bar by its share', () => {
  const wheel = moveTo(extent, top, 90)
  assert.equal(rowsInView(extent, wheel).top, 3)
  const dragged = moveTo(extent, top, scrollHeight(extent) / 2)
  assert.ok(Math.abs(rowsInView(extent, dragged).top - 500_000) < 50)
  assert.equal(
    rowsInView(extent, moveTo(extent, dragged, dragged.scrollTop + 30)).top,
    rowsInView(extent, dragged).top + 1,
  )
})

test('at most 60 rows are in the document, and each lies where it is seen', () => {
  for (const scrollTop of [0, 1000, 123_456, 7_000_000]) {
    const place = moveTo(extent, top, scrollTop)
    const { first, end, top: firstSeen } = rowsInView(extent, place)
    assert.ok(end - first <= 60)
    const seenAt = rowOffset(firstSeen, 30, place) - place.scrollTop
    assert.ok(seenAt <= 0 && seenAt > -30, String(seenAt))
  }
})

test('a row is revealed with the least movement', () => {
  const short = { total: 100, rowHeight: 30, viewHeight: 300 }
  assert.equal(revealRow(short, top, 5), top)
  assert.equal(revealRow(short, top, 10).listTop, 30)
  assert.equal(revealRow(short, { scrollTop: 900, listTop: 900 }, 20).listTop, 600)
})

test('the place of a list says the deadline to ask for', () => {
  const buckets = [
    { start: 100, end: 200, inherited: 6, own: 4 },
    { start: 200, end: 300, inherited: 0, own: 0 },
    { start: 300, end: 400, inherited: 10, own: 0 },
  ]
  const places = [0, 5, 10, 15, 20, 99].map(index => placeAt({ buckets }, index))
  assert.deepEqual(
    places.map(({ from }) => from),
    [99, 149, 299, 349, 400, 400],
  )
  // What never dies follows the last bucket, wherever somebody scrolled to.
  assert.deepEqual(
    places.map(({ startIndex }) => startIndex),
    [0, 5, 10, 15, 20, 20],
  )
  assert.deepEqual(placeAt({ buckets: [] }, 4_000), { startIndex: 0, from: 0 })
})

test('columns: the key first, then paths; nothing twice', () => {
  const container = { api: 'nosql' as const, partitionKey: ['/tenant', '/user'] }
  assert.deepEqual(
    columnsOf(container, ['/device/os']).map(({ name }) => name),
    ['/tenant', '/user', 'device.os', 'ttl', 'last written', 'size'],
  )
  assert.deepEqual(
    columnsOf({ api: 'mongo', partitionKey: [] }, []).map(({ name }) => name),
    ['ttl', 'last modified', 'size'],
  )
  assert.equal(trackSizes(columnsOf(container, [])).wide.split(' ').length, 8)
})

test('names with dots, slashes and commas become paths, and come back', () => {
  assert.equal(pathOf('device.os'), '/device/os')
  assert.equal(pathOf('cart[0].sku'), '/cart/0/sku')
  assert.equal(pathOf('a/b~c'), '/a~1b~0c')
  assert.equal(pathName('/a~1b~0c'), 'a/b~c')
  assert.equal(columnsParameter(['/a,b', '/c']), '/a%2Cb,/c')
})

test('without a telling key, the first column is a short text that most documents have', () => {
  const paths = [
    { path: '_id', types: ['objectId'], share: 1 },
    { path: 'tags', types: ['array'], share: 1 },
    { path: 'priority', types: ['number'], share: 1 },
    { path: 'status', types: ['string'], share: 0.9 },
    { path: 'rare', types: ['string'], share: 0.1 },
  ]
  assert.deepEqual(firstPaths({ paths, sampled: 200 }, { api: 'mongo', partitionKey: [] }), ['/status'])
  assert.deepEqual(firstPaths({ paths, sampled: 200 }, { api: 'nosql', partitionKey: ['/userId'] }), [])
})

test('a cell shows the value and not the words of extended JSON around it', () => {
  assert.deepEqual(
    [undefined, 'open', 7, null, { $oid: 'ab' }, { $date: '2026' }, { a: 1 }, { $cut: '{"x', chars: 900 }].map(
      cellText,
    ),
    [undefined, 'open', '7', 'null', 'ab', '2026', '{"a":1}', '{"x…'],
  )
})

test('select all is a query; leaving one out makes it rows again', () => {
  const loaded = ['a', 'b', 'c', 'd']
  const all = new Selection({ kind: 'all' })
  assert.equal(all.count(18_204), 18_204)
  assert.equal(all.toggled('b', loaded).count(18_204), 3)
  const some = new Selection().toggled('a', loaded).extended('a', 'c', loaded)
  assert.deepEqual(
    [some.count(9), some.has('b'), some.has('d'), some.without(new Set(['b'])).count(9)],
    [3, true, false, 2],
  )
})
