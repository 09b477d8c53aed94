import assert from 'node:assert/strict'
import test from 'node:test'
import { JournalWaiters } from './journal-waiters.ts'

test('only those are woken who have not seen the tick', async () => {
  const waiters = new JournalWaiters(0)
  const news: string[] = []
  const wait = (name: string, after: number) =>
    waiters.wait(after, { ms: 60_000 }).then(hasNews => news.push(`${name} ${hasNews}`))
  const all = [wait('behind', 0), wait('there', 5)]
  waiters.advance(5)
  await all[0]
  assert.deepEqual(news, ['behind true'])
  waiters.advance(6)
  await all[1]
  assert.deepEqual(news, ['behind true', 'there true'])
})

test('who is interrupted, or has waited long enough, has no news', async () => {
  const waiters = new JournalWaiters(3)
  assert.equal(await waiters.wait(3, { ms: 1 }), false)
  assert.equal(await waiters.wait(3, { ms: 60_000, onBegin: end => end() }), false)
  assert.equal(await waiters.wait(2, { ms: 60_000 }), true)
})
