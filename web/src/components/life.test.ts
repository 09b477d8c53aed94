import assert from 'node:assert/strict'
import { test } from 'node:test'
import { lifeText, shareLeft, urgencyOf } from './life.ts'

const life = { ts: 100, deadline: 160 }

test('an item is dead at its deadline, urgent in the ten seconds before, soon in the last minute', () => {
  const at = (seconds: number) => urgencyOf(life, seconds * 1000)
  assert.deepEqual([100.001, 150, 150.001, 159.999, 160].map(at), ['soon', 'soon', 'urgent', 'urgent', 'dead'])
  assert.equal(urgencyOf({ ts: 0, deadline: 160 }, 100_000), 'calm')
  assert.equal(urgencyOf({ ts: 0, deadline: null }, 1e15), 'never')
})

test('the bar is the share of its own lifespan, and never beyond its ends', () => {
  const share = (seconds: number) => shareLeft(life, seconds * 1000)
  assert.deepEqual([100, 130, 160, 200, 50].map(share), [100, 50, 0, 0, 100])
  assert.equal(shareLeft({ ts: 160, deadline: 160 }, 0), 0)
  assert.equal(shareLeft({ ts: 1, deadline: null }, 5), 100)
})

test('after the deadline the text says how long ago', () => {
  assert.deepEqual(
    [157_800, 160_000, 163_000].map(ms => lifeText(life, ms)),
    ['2.2 s', 'just now', '3 s ago'],
  )
  assert.equal(lifeText({ ts: 1, deadline: null }, 5), 'never')
})
