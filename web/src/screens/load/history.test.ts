import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { LoadHistory } from '../../api/shapes.ts'
import { filled, lastSeconds, purgeStory, withSecond } from './history.ts'

const history: LoadHistory = {
  endSecond: 1000,
  stepSeconds: 1,
  provisionedRu: 400,
  isEnforced: true,
  requests: [1, 2],
  requestRu: [10, 20],
  purgeRu: [0, 0],
  throttled: [0, 0],
  removed: [0, 0],
  dead: [5, null],
  lagSeconds: [1, null],
  now: { dead: 0, lagSeconds: 0, oldest: null, isPaused: false },
}
const second = { requests: 3, requestRu: 30, purgeRu: 1, throttled: 0, removed: 4, dead: 7, lagSeconds: 2 }
const time = (at: number) => `t${at}`

test('a second is appended, and seconds that nobody told were quiet', () => {
  const next = withSecond(history, { second: 1003, ...second })
  assert.equal(next.endSecond, 1003)
  assert.deepEqual(next.requests, [1, 2, 0, 0, 3])
  assert.deepEqual(next.dead, [5, null, null, null, 7])
})

test('a second that is known already changes nothing', () => {
  assert.equal(withSecond(history, { second: 1000, ...second }), history)
})

test('the history keeps an hour', () => {
  let long = history
  for (let at = 1001; at < 5000; at += 1) long = withSecond(long, { second: at, ...second })
  assert.equal(long.requests.length, 3600)
  assert.equal(withSecond(history, { second: 1_000_000, ...second }).requests.length, 3600)
})

test('the last seconds are cut from the end', () => {
  assert.deepEqual(lastSeconds(history, 1).requests, [2])
  assert.deepEqual(lastSeconds(history, 100).requests, [1, 2])
})

test('a number that nobody looked up stays what it was', () => {
  assert.deepEqual(filled([null, 5, null, 7]), [5, 5, 5, 7])
  assert.deepEqual(filled([null]), [0])
})

test('after a spell of load the purge says since when it removes, and when it is done', () => {
  const { headline, text } = purgeStory(
    {
      ...history,
      requestRu: [400, 400, 100, 100, 100],
      removed: [0, 0, 50, 50, 50],
      now: { ...history.now, dead: 100 },
    },
    time,
  )
  assert.equal(headline, 'The purge waits while requests need everything.')
  assert.equal(
    text,
    'Until t997 they took nearly all 400 RU/s; nothing dead was visible meanwhile. ' +
      'Since then it removes about 30 items a second and will be done in 4 s. Requests paid 0 RU for 150 removals.',
  )
})

test('while requests take everything, no end is promised', () => {
  const { text } = purgeStory({ ...history, requestRu: [400, 400], now: { ...history.now, dead: 100 } }, time)
  assert.equal(text, 'They take nearly all 400 RU/s; nothing dead is visible meanwhile.')
})

test('a paused purge says so before anything else', () => {
  const paused = { ...history, requestRu: [400, 400], now: { ...history.now, dead: 1, isPaused: true } }
  assert.equal(purgeStory(paused, time).headline, 'The purge is paused.')
  assert.match(purgeStory(paused, time).text, /^1 dead item waits to be removed; no read/)
})

test('without a rate limit nobody speaks of what is left over', () => {
  const { headline, text } = purgeStory({ ...history, isEnforced: false }, time)
  assert.equal(headline, 'Nothing waits to be removed.')
  assert.match(text, /^Without --rate-limit/)
})

test('of a whole server with a rate limit nobody says that nothing is throttled', () => {
  const { headline, text } = purgeStory({ ...history, provisionedRu: null, now: { ...history.now, dead: 3 } }, time)
  assert.equal(headline, 'The purge takes what is left over.')
  assert.equal(text, 'Requests come first: the purge gets what they leave in each container.')
})
