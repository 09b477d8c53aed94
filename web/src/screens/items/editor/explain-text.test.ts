import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container, Item } from '../../../api/shapes.ts'
import { explainSentence, savingText } from './explain-text.ts'
import { ttlHint } from './ttl-hint.ts'

const nowMs = Date.UTC(2026, 10, 15, 13, 51, 20)
const nowS = nowMs / 1000
const when = { nowMs, zone: 'UTC' as const }
const ttl = { kind: 'no default' as const }
const nosql = { api: 'nosql' as const, defaultTtl: 3600, ttl }

function say(item: Partial<Item>, container: Pick<Container, 'api' | 'defaultTtl' | 'ttl'> = nosql): string {
  const whole = { ttl: null, rule: 'inherited' as const, ts: nowS - 2880, deadline: nowS + 720, isDead: false, ...item }
  const { lead, rest } = explainSentence(whole, container, { explanation: 'The server says why.' }, when)
  return `${lead} ${rest}`
}

test('where dates decide, no ttl is spoken of', () => {
  const byDate = { api: 'mongo', defaultTtl: -1, ttl: { kind: 'date' } } as const
  assert.equal(
    say({ rule: 'own', ttl: 651 }, byDate),
    'Alive. Dies at 14:03:20 (in 12 min): a date in it says so, by a TTL index.',
  )
  assert.equal(
    say({ rule: 'never', deadline: null }, byDate),
    'Never dies: it has no date in a field with a TTL index.',
  )
  assert.equal(savingText(60, byDate, when), undefined)
})

test('each rule has its sentence', () => {
  assert.equal(
    say({}),
    'Alive. Dies at 14:03:20 (in 12 min): it inherits 3600 s from the container and was last written at 13:03:20.',
  )
  assert.equal(
    say({ rule: 'own', ttl: 60, ts: nowS - 31, deadline: nowS + 29 }),
    'Alive. Dies at 13:51:49 (in 29 s): its own ttl is 60 s and it was last written at 13:50:49.',
  )
  assert.equal(say({ rule: 'never', ttl: -1, deadline: null }), 'Never dies: its own ttl is -1.')
  assert.equal(
    say({ rule: 'never', deadline: null }, { api: 'nosql', defaultTtl: -1, ttl }),
    'Never dies: it has no ttl and the container has no default.',
  )
  assert.equal(
    say({ rule: 'off', ttl: 60, deadline: null }, { api: 'nosql', defaultTtl: null, ttl }),
    'Never dies: Time to Live is Off, so a ttl in the item is only data.',
  )
  assert.equal(
    say({ rule: 'final', isDead: true }),
    'Died under an earlier setting. Death is final: a later setting does not bring it back.',
  )
})

test('the dead are said to be dead at their deadline, whoever has noticed', () => {
  const sentence =
    'Died at 13:51:20: its own ttl is 60 s and it was last written at 13:50:20. It waits to be removed; nobody sees it.'
  assert.equal(say({ rule: 'own', ttl: 60, ts: nowS - 60, deadline: nowS }), sentence)
})

test('Mongo has its own words, and what a document would inherit', () => {
  const mongo = { api: 'mongo' as const, defaultTtl: 2_592_000, ttl }
  assert.equal(
    say({ rule: 'own', ttl: 600, ts: nowS - 559, deadline: nowS + 41 }, mongo),
    'Alive. Dies at 13:52:01 (in 41 s): its own ttl is 600 s and it was last modified at 13:42:01. ' +
      'Without it, it would inherit 30 d.',
  )
})

test('what no rule here has words for is said by the server', () => {
  assert.match(say({ rule: 'own', ttl: null }, { api: 'mongo', defaultTtl: null, ttl }), /The server says why\.$/)
})

test('saving starts the ttl again', () => {
  assert.deepEqual(savingText(undefined, nosql, when), { lead: 'dies 14:51:20', rest: 'Saving starts its hour again:' })
  assert.deepEqual(savingText(90, nosql, when), { lead: 'dies 13:52:50', rest: 'Saving starts its 90 s again:' })
  assert.equal(savingText(-1, nosql, when)?.lead, 'never dies')
  assert.equal(savingText(60, { defaultTtl: null, ttl }, when), undefined)
})

test('the hint behind ttl is the stored deadline until the text changes', () => {
  const container = { defaultTtl: 3600, ttl: { kind: 'on' as const, seconds: 3600 } }
  const hint = (ttl: number | null | undefined, isChanged: boolean) =>
    ttlHint({ ttl, item: { deadline: nowS + 29, isDead: false }, container, isChanged, nowMs, zone: 'UTC' })?.text
  assert.equal(hint(60, false), 'dies 13:51:49, in 29 s')
  assert.equal(hint(undefined, false), 'no ttl: inherits 3600 s, dies 13:51:49')
  assert.equal(hint(60, true), 'saved now, dies 13:52:20')
  const final = { deadline: null, isDead: true }
  assert.equal(ttlHint({ ttl: undefined, item: final, container, isChanged: false, nowMs, zone: 'UTC' }), undefined)
  assert.equal(hint(-1, true), 'never dies')
  assert.equal(hint(Number.NaN, true), 'ttl is a whole number of seconds, or -1')
  assert.equal(hint(null, true), undefined, 'a text that is not JSON has another mistake')
})
