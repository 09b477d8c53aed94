import assert from 'node:assert/strict'
import { test } from 'node:test'
import { agoText, durationText, fullTime, leftText, longTime, parseSpan, shortTime, spanText } from './time-text.ts'

test('a countdown shows tenths below ten seconds, and two units from a minute on', () => {
  const texts = { 2200: '2.2 s', 9950: '10.0 s', 29000: '29 s', 28400: '29 s', 92000: '1 m 32 s', 3600000: '1 h 00 m' }
  for (const [ms, text] of Object.entries(texts)) assert.equal(leftText(Number(ms)), text)
  assert.equal(leftText(0), '0 s')
  assert.equal(leftText(51_720_000), '14 h 22 m')
  assert.equal(leftText((6 * 24 + 3) * 3_600_000), '6 d 03 h')
})

test('a countdown never says less than is left', () => {
  for (let ms = 1; ms < 200_000; ms += 137) {
    const parts = [...leftText(ms).matchAll(/([\d.]+) ([ms])/g)].map(
      ([, n, unit]) => Number(n) * (unit === 'm' ? 60 : 1),
    )
    const said = parts.reduce((sum, part) => sum + part, 0) * 1000
    assert.ok(said >= ms && said < ms + 1001, `${ms}: ${leftText(ms)}`)
  }
})

test('a setting is written in one unit where that is exact', () => {
  assert.deepEqual([3600, 90, 604_800, 2_592_000, 1].map(spanText), ['1 h', '90 s', '7 d', '30 d', '1 s'])
  assert.equal(durationText(90), '1 m 30 s')
})

test('people write seconds, units, and several of them; anything else is no time', () => {
  const spans = {
    '90': 90,
    '15 m': 900,
    '7d': 604_800,
    '7 D': 604_800,
    '1 h 30 m': 5400,
    '1.5h': 5400,
    ' 2 weeks ': 1_209_600,
  }
  for (const [text, seconds] of Object.entries(spans)) assert.equal(parseSpan(text), seconds, text)
  for (const text of ['', '-1', 'x', '1 q', '1.0000001 s', '1h x', 'h', '1e3', 'Infinity']) {
    assert.equal(parseSpan(text), undefined, text)
  }
  assert.equal(parseSpan('0'), 0)
})

test('what ago means', () => {
  assert.deepEqual([0.4, 3, 240, 7200, 3 * 86_400].map(agoText), [
    'just now',
    '3 s ago',
    '4 m ago',
    '2 h ago',
    '3 d ago',
  ])
})

test('today has a time only, other days have their date', () => {
  const now = Date.UTC(2026, 10, 15, 13, 51, 20)
  assert.equal(fullTime(now, now, 'UTC'), '13:51:20')
  assert.equal(shortTime(Date.UTC(2026, 9, 16, 1), now, 'UTC'), '16 Oct')
  assert.equal(fullTime(Date.UTC(2025, 9, 16, 1), now, 'UTC'), '16 Oct 2025, 01:00:00')
  assert.equal(longTime(now, 'UTC'), 'Sun 15 Nov 2026, 13:51:20')
})
