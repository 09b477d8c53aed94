import assert from 'node:assert/strict'
import { test } from 'node:test'
import { advancedText, aheadText, momentText, parseMoment, perContainer } from './clock-words.ts'

const died = {
  total: 4212,
  containers: [
    { database: 'support', container: 'presence', count: 1 },
    { database: 'shop', container: 'sessions', count: 4180 },
    { database: 'shop', container: 'carts', count: 31 },
    { database: 'shop', container: 'audit', count: 0 },
  ],
}

test('a step says who died, per container', () => {
  assert.equal(advancedText(3600, died), 'Advanced 1 h: 4,212 items died.')
  assert.equal(advancedText(60, { total: 0, containers: [] }), 'Advanced 1 m: nobody died.')
  assert.equal(advancedText(90, { total: 1, containers: [] }), 'Advanced 1 m 30 s: 1 item died.')
  assert.equal(perContainer(died), 'sessions 4,180, carts 31, presence 1')
})

test('a name that two databases have comes with its database, and a long list is cut', () => {
  const twice = ['a', 'b'].map(database => ({ database, container: 'items', count: 2 }))
  assert.equal(perContainer({ total: 4, containers: twice }), 'a / items 2, b / items 2')
  const many = Array.from({ length: 9 }, (_, n) => ({ database: 'd', container: `c${n}`, count: 9 - n }))
  assert.match(perContainer({ total: 45, containers: many }), /c5 4, 3 others$/)
})

test('the bar says how far the clock is from that of the machine', () => {
  assert.equal(aheadText(12_000), 'Manual clock, 3 h 20 m ahead of this machine')
  assert.equal(aheadText(-90), 'Manual clock, 1 m 30 s behind this machine')
  assert.equal(aheadText(0), 'Manual clock, at the time of this machine')
})

test('a moment is read in UTC, and one that does not exist is not read', () => {
  assert.equal(parseMoment('2026-11-15 15:00:00'), Date.UTC(2026, 10, 15, 15) / 1000)
  assert.equal(parseMoment('2026-11-15T15:00Z'), Date.UTC(2026, 10, 15, 15) / 1000)
  assert.equal(parseMoment('2026-11-15'), Date.UTC(2026, 10, 15) / 1000)
  assert.equal(momentText(Date.UTC(2026, 10, 15, 15)), '2026-11-15 15:00:00')
  for (const text of ['', 'tomorrow', '2026-02-31 10:00', '2026-11-15 25:00', '2026-13-01']) {
    assert.equal(parseMoment(text), undefined, text)
  }
})
