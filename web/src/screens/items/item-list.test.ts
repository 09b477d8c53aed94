import assert from 'node:assert/strict'
import { afterEach, mock, test } from 'node:test'
import { ItemList, type ListState, rowsMax } from './item-list.ts'

const state: ListState = { filter: 'all', order: 'soonest', query: '', columns: '' }

/** A server of `total` rows; `found` says how many of a page it finds. */
function serve(total: number, found = (limit: number) => limit) {
  const asked: URL[] = []
  mock.method(globalThis, 'fetch', async (address: string) => {
    const url = new URL(address, 'http://server')
    asked.push(url)
    const from = Number(url.searchParams.get('after') ?? 0)
    const limit = Number(url.searchParams.get('limit'))
    const end = Math.min(total, from + limit)
    const items = Array.from({ length: Math.min(found(limit), end - from) }, (_, n) => ({ key: `k${from + n}` }))
    return Response.json({ items, ...(end < total && { next: String(end) }) })
  })
  return asked
}

afterEach(() => mock.restoreAll())

const newList = () => new ItemList({ database: 'd', container: 'c' }, state)
const keysOf = (list: ItemList) => [list.rows.value[0]?.key, list.rows.value.at(-1)?.key]

test('a row far away is reached by large pages, and the list keeps no more than it may', async () => {
  const asked = serve(1_000_000)
  const list = newList()
  await list.load()
  await list.loadUpTo(4_999)
  assert.deepEqual([list.rows.value.length, asked.length], [5_000, 6])
  await list.loadUpTo(999_999)
  assert.deepEqual([list.rows.value.length, list.isFull.value], [rowsMax, true])
  assert.ok(asked.length <= 12, String(asked.length))
  await list.loadMore()
  assert.ok(asked.length <= 12, 'scrolling ends there')
})

test('where a time leads back to the first rows, they give way to the next ones', async () => {
  serve(1_000_000)
  const list = newList()
  list.reach.value = 500_000
  await list.load()
  await list.loadUpTo(12_000)
  assert.equal(list.rows.value.length, rowsMax)
  assert.deepEqual(keysOf(list), [`k${list.startIndex.value}`, `k${list.startIndex.value + rowsMax - 1}`])
  assert.ok(list.startIndex.value > 2_000)
})

test('the pages behind a jump ask for the same list as its first one', async () => {
  const asked = serve(1_000)
  const list = newList()
  await list.load(state, { startIndex: 300, from: 77 })
  await list.loadMore()
  assert.deepEqual(
    asked.map(url => url.searchParams.get('from')),
    ['77', '77'],
  )
  await list.load()
  assert.equal(asked.at(-1)?.searchParams.get('from'), null)
})

test('pages that find nothing end until somebody asks again', async () => {
  const asked = serve(1_000_000, () => 0)
  const list = newList()
  await list.load()
  const first = asked.length
  assert.ok(first <= 20 && list.isPaused.value)
  await list.loadMore()
  await list.loadUpTo(500)
  assert.equal(asked.length, first)
  await list.lookFurther()
  assert.equal(asked.length, 2 * first)
})
