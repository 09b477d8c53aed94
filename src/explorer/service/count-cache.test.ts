import assert from 'node:assert/strict'
import { test } from 'node:test'
import { CountCache } from './count-cache.ts'

/** Counts of so many rows, asked for so often in so many seconds of a clock that is turned. */
async function countsIn(seconds: number, everyMs: number, rows: readonly number[]): Promise<number> {
  let nowMs = 0
  let counted = 0
  const cache = new CountCache(() => nowMs)
  for (; nowMs < seconds * 1000; nowMs += everyMs) {
    for (const [name, each] of rows.entries()) {
      const count = async () => {
        counted += each
        return each
      }
      await cache.get(`${name}`, count, value => value)
    }
  }
  return counted
}

test('what is cheap is counted for each look of the live connections, and not for each question', async () => {
  assert.equal(await countsIn(10, 490, [1000]), 21 * 1000)
  assert.equal(await countsIn(10, 100, [1000]), 25 * 1000)
})

test('ten dear numbers together take a small share of the time, however often somebody asks', async () => {
  const first = 10 * 1_000_000
  const counted = await countsIn(600, 100, Array<number>(10).fill(1_000_000))
  // 0.2 us a row: 2 % of ten minutes are 12 s.
  assert.ok(counted - first <= 60_000_000, `${counted} rows`)
  assert.ok(counted > 2 * first, 'they are counted again')
})

test('a cheap number does not wait for dear ones, and after a write everything is counted again', async () => {
  let nowMs = 0
  const cache = new CountCache(() => nowMs)
  const get = (key: string, rows: number) =>
    cache.get(
      key,
      async () => nowMs,
      () => rows,
    )
  await get('dear', 10_000_000)
  await get('cheap', 10)
  nowMs = 1000
  assert.deepEqual(await get('cheap', 10), { value: 1000, isAbout: false })
  assert.deepEqual(await get('dear', 10_000_000), { value: 0, isAbout: true })
  cache.forget()
  assert.deepEqual(await get('dear', 10_000_000), { value: 1000, isAbout: false })
})
