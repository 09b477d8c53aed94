/** Bodies in Cosmos binary JSON, as the SDKs for Rust, .NET and Java send them. Answers are text. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { binaryJson } from '../../support/binary-json.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

/** What the Rust SDK sends with each request for an item. */
const asked = { 'x-ms-cosmos-supported-serialization-formats': 'CosmosBinary' }

function ofKey(pk: string): Record<string, string> {
  return { ...asked, 'x-ms-documentdb-partitionkey': JSON.stringify([pk]) }
}

const item = {
  id: '0a1b2c3d-0405-0607-0809-0a0b0c0d0e0f',
  pk: 'a',
  name: 'Ünï "quoted" 😀',
  numbers: [0, 31, 32, -1, 255, 65_536, 1.5, 9_007_199_254_740_991],
  when: '2026-11-16T15:04:05.678Z',
  nested: { id: 'x', list: [{ value: null }, { value: true }, []] },
  ttl: 10,
}

test('An item in binary is stored as the same item in text', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  const docs = pathOf(container, 'docs')
  const headers = ofKey('a')
  const created = await server.send({ method: 'POST', path: docs, headers, body: binaryJson(item) })
  assert.equal(created.status, 201, created.text)
  assert.equal(created.headers['content-type'], 'application/json')
  const { _rid, _self, _etag, _attachments, _ts, ...rest } = created.json
  assert.deepEqual(rest, item)
  const read = await server.send({ path: pathOf(container, 'docs', item.id), headers })
  assert.equal(read.text, created.text)
  assert.deepEqual((await container.item(item.id, 'a').read()).resource.numbers, item.numbers)
  const { resources } = await container.items.query('SELECT VALUE c.nested.list[1]["value"] FROM c').fetchAll()
  assert.deepEqual(resources, [true])
  await server.db.clock.advance('10s')
  assert.equal((await server.send({ path: pathOf(container, 'docs', item.id), headers })).status, 404)
})

test('Integers of 64 bits keep their value', async () => {
  const container = await server.newContainer()
  const body = Buffer.concat([
    Buffer.of(0x80, 0xea, 1 + 2 + 1 + 2 + 2 + 9 + 2 + 9),
    Buffer.of(0x2c, 0x81, 0x31, 0x82, 0x70, 0x6b, 0x81, 0x61),
    Buffer.of(0x81, 0x6d, 0xcb, ...Array(7).fill(0), 0x80, 0x81, 0x75, 0xc7, ...Array(8).fill(0xff)),
  ])
  body[2] = body.length - 3
  const { status, text } = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: ofKey('a'),
    body,
  })
  assert.equal(status, 201, text)
  assert.match(text, /"m":-9223372036854775808,"u":18446744073709551615[,}]/)
})

test('Upsert, replace, patch, query, batch and definitions may be binary too', async () => {
  const container = await server.newContainer()
  const docs = pathOf(container, 'docs')
  const one = pathOf(container, 'docs', '1')
  const headers = ofKey('a')
  const send = (method: string, path: string, more: Record<string, string>, value: unknown) =>
    server.send({ method, path, headers: { ...headers, ...more }, body: binaryJson(value) })
  const upserted = await send('POST', docs, { 'x-ms-documentdb-is-upsert': 'true' }, { id: '1', pk: 'a', n: 1 })
  assert.equal(upserted.status, 201, upserted.text)
  const replaced = await send('PUT', one, {}, { id: '1', pk: 'a', n: 2 })
  assert.equal(replaced.json.n, 2, replaced.text)
  const patched = await send('PATCH', one, {}, { operations: [{ op: 'incr', path: '/n', value: 40 }] })
  assert.equal(patched.json.n, 42, patched.text)
  const asQuery = { 'content-type': 'application/query+json', 'x-ms-documentdb-isquery': 'true' }
  const parameters = [{ name: '@n', value: 42 }]
  const found = await send('POST', docs, asQuery, { query: 'SELECT VALUE c.id FROM c WHERE c.n = @n', parameters })
  assert.deepEqual(found.json.Documents, ['1'], found.text)
  const asBatch = { 'x-ms-cosmos-is-batch-request': 'true', 'x-ms-cosmos-batch-atomic': 'true' }
  const operations = [
    { operationType: 'Create', resourceBody: { id: '2', pk: 'a' } },
    { operationType: 'Read', id: '1' },
  ]
  const batch = await send('POST', docs, asBatch, operations)
  assert.deepEqual(
    batch.json.map((result: { statusCode: number }) => result.statusCode),
    [201, 200],
    batch.text,
  )
  const created = await server.send({ method: 'POST', path: '/dbs', body: binaryJson({ id: 'made-in-binary' }) })
  assert.equal(created.status, 201, created.text)
})

test('Binary JSON that is damaged, too deep or too large is refused, and nothing is stored', async () => {
  const container = await server.newContainer()
  const path = pathOf(container, 'docs')
  const whole = binaryJson({ id: '1', pk: 'a', text: 'x'.repeat(100) })
  for (let end = 1; end < whole.length; end++) {
    const { status, json } = await server.send({
      method: 'POST',
      path,
      headers: ofKey('a'),
      body: whole.subarray(0, end),
    })
    assert.equal(status, 400)
    assert.match(json.message, /it is binary JSON, but it ends too early/)
  }
  const status = async (body: Buffer) => (await server.send({ method: 'POST', path, headers: ofKey('a'), body })).status
  assert.equal(await status(Buffer.concat([Buffer.of(0x80), Buffer.alloc(1_000_000, 0xe1)])), 400)
  assert.equal(await status(Buffer.of(0x80, 0xe0)), 400)
  assert.equal(await status(Buffer.of(0x80, 0xe9, 0x2c, 0x40)), 400)
  assert.equal(await status(binaryJson({ id: '1', pk: 'a', text: 'x'.repeat(2_100_000) })), 413)
  assert.equal((await container.items.readAll().fetchAll()).resources.length, 0)
})
