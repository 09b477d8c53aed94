/**
 * A continuation token belongs to one query with its parameters, one container, one part of it, and one
 * account. With anything else, or when it is altered, it is refused instead of silently reading other data.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Container } from '@azure/cosmos'
import { mayfly } from '../../src/index.ts'
import { assertServiceError } from '../support/service-error.ts'
import { pathOf, startServer, testServer } from '../support/start-server.ts'
import { ask, type Headers, sendQuery } from './ask.ts'

const server = await startServer({ partitions: 5 })

async function fill(): Promise<Container> {
  const made = await server.newContainer()
  for (let at = 0; at < 7; at++) await made.items.create({ id: `i${at}`, pk: `p${at}`, n: at })
  return made
}

const container = await fill()
const one = { 'x-ms-max-item-count': '1' }
const whole = { 'x-ms-documentdb-partitionkeyrangeid': undefined }
const text = 'SELECT VALUE c.id FROM c WHERE c.n >= @n'
const parameters = [{ name: '@n', value: 0 }]

async function firstPage(query: string, headers: Headers, given: unknown = []): Promise<string> {
  const answer = await sendQuery(server, container, query, { headers: { ...one, ...headers }, parameters: given })
  assert.equal(answer.status, 200, answer.text)
  return String(answer.headers['x-ms-continuation'] ?? assert.fail('there is one page only'))
}

const invalid = /^Invalid Continuation Token/

async function assertInvalid(query: string, token: string, headers: Headers = whole, given: unknown = parameters) {
  const options = { headers: { ...one, ...headers, 'x-ms-continuation': token }, parameters: given }
  assert.match(assertServiceError(await sendQuery(server, container, query, options), 400), invalid, token)
}

/** A physical partition with at least two of the items. */
async function rangeOfTwo(): Promise<Headers> {
  for (const id of ['0', '1', '2', '3', '4']) {
    const headers = { 'x-ms-documentdb-partitionkeyrangeid': id }
    const { rows } = await ask(server, container, 'SELECT VALUE c.id FROM c', headers)
    if (rows.length >= 2) return headers
  }
  return assert.fail('no partition has two items')
}

test('a token is refused if any of its characters is changed, missing or added', async () => {
  const two = await rangeOfTwo()
  const ordered = 'SELECT VALUE c.id FROM c ORDER BY c.n'
  const tokens = [
    { query: text, headers: whole, given: parameters },
    { query: ordered, headers: two, given: [] },
    { query: 'SELECT DISTINCT VALUE c.n FROM c', headers: two, given: [] },
  ]
  for (const { query, headers, given } of tokens) {
    const token = await firstPage(query, headers, given)
    for (let at = 0; at < token.length; at++) {
      const other = token[at] === 'A' ? 'B' : 'A'
      await assertInvalid(query, token.slice(0, at) + other + token.slice(at + 1), headers, given)
    }
    const dot = token.indexOf('.')
    for (const length of [1, dot, dot + 1, token.length - 1]) {
      await assertInvalid(query, token.slice(0, length), headers, given)
    }
    await assertInvalid(query, `${token}A`, headers, given)
    await assertInvalid(query, token + token, headers, given)
  }
})

test('a text that is not a token is refused', async () => {
  const json = Buffer.from('{"passed":0}').toString('base64')
  for (const token of ['.', '..', 'null', '{}', '[]', '0', '__proto__', 'a.b', 'é', json, '.'.repeat(5000)]) {
    await assertInvalid(text, token)
  }
  await assertInvalid(text, '{"token":"x","range":{"min":"","max":"FF"}}')
})

test('a token is refused with another query, other parameters, or in another part of the container', async () => {
  const token = await firstPage(text, whole, parameters)
  await assertInvalid('SELECT VALUE c.id FROM c WHERE c.n > @n', token)
  await assertInvalid(`${text} `, token)
  await assertInvalid(text, token, whole, [{ name: '@n', value: 1 }])
  await assertInvalid(text, token, whole, [{ name: '@n', value: '0' }])
  for (const id of ['0', '1', '4']) await assertInvalid(text, token, { 'x-ms-documentdb-partitionkeyrangeid': id })
  await assertInvalid(text, token, { ...whole, 'x-ms-documentdb-partitionkey': '["p1"]' })
  await assertInvalid(text, token, { 'x-ms-documentdb-partitionkeyrangeid': '0', 'x-ms-start-epk': '01' })
})

test('a token of one partition is refused by the next', async () => {
  const two = await rangeOfTwo()
  const ordered = 'SELECT VALUE c.id FROM c ORDER BY c.n'
  const token = await firstPage(ordered, two)
  const other = two['x-ms-documentdb-partitionkeyrangeid'] === '0' ? '1' : '0'
  await assertInvalid(ordered, token, { 'x-ms-documentdb-partitionkeyrangeid': other }, [])
})

test('a token is refused by another container, by the feed, and by another account', async () => {
  const token = await firstPage(text, whole, parameters)
  const twin = await fill()
  const options = { headers: { ...one, ...whole, 'x-ms-continuation': token }, parameters }
  assert.match(assertServiceError(await sendQuery(server, twin, text, options), 400), invalid)
  const feed = { path: pathOf(container, 'docs'), headers: { 'x-ms-continuation': token } }
  assert.match(assertServiceError(await server.send(feed), 400), invalid)
  const all = await server.send({ path: pathOf(container, 'docs'), headers: one })
  await assertInvalid(text, String(all.headers['x-ms-continuation']))

  await using other = await mayfly({ clock: 'manual', key: Buffer.alloc(32, 'another key').toString('base64') })
  const stranger = testServer(other)
  const home = await stranger.newContainer()
  for (let at = 0; at < 3; at++) await home.items.create({ id: `${at}`, pk: 'p', n: at })
  const foreign = await sendQuery(stranger, home, text, { headers: { ...one, ...whole }, parameters })
  await assertInvalid(text, String(foreign.headers['x-ms-continuation']))
})

test('a token can be used many times, with pages of any size', async () => {
  const token = await firstPage(text, whole, parameters)
  for (const count of ['1', '2', '100', '1']) {
    const headers = { ...whole, 'x-ms-max-item-count': count, 'x-ms-continuation': token }
    const answer = await sendQuery(server, container, text, { headers, parameters })
    assert.equal(answer.status, 200, answer.text)
    assert.equal(answer.json.Documents.length, Math.min(6, Number(count)))
  }
})

test('the client passes on the refusal', async () => {
  const { continuationToken } = await container.items.query('SELECT VALUE c.id FROM c', { maxItemCount: 2 }).fetchNext()
  assert.ok(continuationToken !== undefined)
  const wrong = container.items.query('SELECT VALUE c.n FROM c', { maxItemCount: 2, continuationToken })
  await assert.rejects(wrong.fetchNext(), { code: 400, message: /Invalid Continuation Token/ })
})

test('a token stays short, however long the values of its position are', async () => {
  const long = await server.newContainer()
  for (let at = 0; at < 4; at++) await long.items.create({ id: `i${at}`, pk: 'p', s: `${'x'.repeat(200_000)}${at}` })
  const headers = { ...whole, 'x-ms-documentdb-partitionkey': '["p"]', ...one }
  for (const direction of ['', ' DESC']) {
    const query = `SELECT VALUE c.id FROM c ORDER BY c.s${direction}`
    const rows: unknown[] = []
    let continuation: string | undefined
    do {
      const page = await ask(server, long, query, { ...headers, 'x-ms-continuation': continuation })
      rows.push(...page.rows)
      continuation = page.continuation
      assert.ok((continuation?.length ?? 0) <= 1024, 'as the SDKs ask for')
    } while (continuation !== undefined)
    const expected = ['i0', 'i1', 'i2', 'i3']
    assert.deepEqual(rows, direction === '' ? expected : expected.reverse())
  }
})
