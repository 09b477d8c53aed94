/** An item comes back as it was written: names, numbers, order and duplicates included. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }

/** The text of the item in the create answer. Asserts that every way to read it gives the same text. */
async function stored(container: Container, body: string, method = 'POST', id = 'one'): Promise<string> {
  const path = method === 'PUT' ? pathOf(container, 'docs', id) : pathOf(container, 'docs')
  const written = await server.send({ method, path, headers, body })
  assert.ok(written.status === 201 || written.status === 200, written.text)
  const read = await server.send({ path: pathOf(container, 'docs', id), headers })
  assert.equal(read.text, written.text, 'the read has the text of the write')
  const feed = await server.send({ path: pathOf(container, 'docs') })
  assert.ok(feed.text.includes(written.text), 'the feed has the text of the write')
  return written.text
}

/** The item without the system properties, which follow the last of its own. */
function ownPart(text: string): string {
  const at = text.indexOf(',"_rid":"')
  assert.match(
    text.slice(at),
    /^,"_rid":"[^"]+","_self":"[^"]+","_etag":"\\"[^"]+\\"","_attachments":"attachments\/","_ts":\d+\}$/,
  )
  return `${text.slice(0, at)}}`
}

const bodies: Readonly<Record<string, string>> = {
  'the names of prototypes': '{"id":"one","pk":"a","__proto__":{"x":1},"constructor":2,"prototype":3,"toString":4}',
  'names twice': '{"id":"one","pk":"a","v":1,"v":2,"o":{"x":1,"x":2}}',
  'names that look like numbers, out of order': '{"id":"one","10":1,"pk":"a","2":2,"-1":3,"1":4,"01":5}',
  'numbers that no double can hold': '{"id":"one","pk":"a","big":12345678901234567890,"long":0.1000000000000000055511}',
  'numbers written in other ways': '{"id":"one","pk":"a","n":[1.0,1e3,1E+3,-0,0.10,1e-400]}',
  'names that are empty or odd': '{"id":"one","pk":"a","":1," ":2,"a.b":3,"a/b":4,"\\u0000":5,"\\"":6}',
  'escapes as they were chosen': '{"id":"one","pk":"a","s":"\\u00e9\\/\\n\\ud83e\\udeb0"}',
  'half a character': '{"id":"one","pk":"a","s":"\\ud83e"}',
  'letters of many scripts': '{"id":"one","pk":"a","Ünïcødé":"日本語 עברית 🪰"}',
  'blanks within': '{ "id" : "one" ,\n\t"pk":"a", "o" : { } , "l":[ 1 , 2 ]}',
  'names of the system, within': '{"id":"one","pk":"a","o":{"_rid":1,"_ts":2},"_custom":3}',
}

for (const [name, body] of Object.entries(bodies)) {
  test(`An item with ${name} comes back as it was written`, async () => {
    const container = await server.newContainer()
    assert.equal(ownPart(await stored(container, body)), body)
    const replaced = body.replace('"pk"', '"x":0,"pk"')
    assert.equal(ownPart(await stored(container, replaced, 'PUT')), replaced)
  })
}

test('Blanks around an item are not part of it', async () => {
  const container = await server.newContainer()
  const text = await stored(container, ' \n{"id":"one","pk":"a","v":1 \t} \r\n')
  assert.equal(ownPart(text).trimStart(), '{"id":"one","pk":"a","v":1}')
})

test('An item that is read and written back has its system properties once, with new values', async () => {
  const container = await server.newContainer()
  const first = await stored(container, '{"id":"one","pk":"a","v":1}')
  await server.db.clock.advance('5s')
  const second = await stored(container, first, 'PUT')
  assert.equal(ownPart(second), '{"id":"one","pk":"a","v":1}')
  const [before, after] = [JSON.parse(first), JSON.parse(second)]
  assert.equal(after._rid, before._rid)
  assert.equal(after._ts, before._ts + 5)
  assert.notEqual(after._etag, before._etag)
  assert.equal(second.match(/"_etag"/g)?.length, 1)
})

test('System properties that a client sends are replaced, wherever they stand and however escaped', async () => {
  const container = await server.newContainer()
  const made =
    '"_ts":1,"id":"one","_rid":{"a":[1,"}"]},"pk":"a","\\u005fetag":"x","_self":null,"v":[",_ts"],"_attachments":[]'
  const text = await stored(container, `{${made}}`)
  assert.equal(ownPart(text), '{"id":"one","pk":"a","v":[",_ts"]}')
  const { _ts } = JSON.parse(text)
  assert.equal(_ts, server.db.clock.now())
})

test('A property called __proto__ does not become the prototype of anything', async () => {
  const container = await server.newContainer({ defaultTtl: 1000 })
  // As a prototype it would give the item a partition key, an id or a ttl that the item does not have.
  const body = '{"id":"one","pk":"a","__proto__":{"ttl":0,"pk":"b","id":"two"}}'
  assert.equal(ownPart(await stored(container, body)), body)
  const missing = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers,
    body: '{"pk":"a","__proto__":{"id":"two"}}',
  })
  assert.equal(missing.status, 400)
  assert.equal(({} as { ttl?: number }).ttl, undefined)
})

test('Create, read, feed and readAll give the SDK the properties in the same order', async () => {
  const container = await server.newContainer()
  const item = { zebra: 1, id: 'one', alpha: { z: 1, a: 2 }, pk: 'a', list: [3, 1, 2] }
  const created = JSON.stringify((await container.items.create(item)).resource)
  assert.equal(JSON.stringify((await container.item('one', 'a').read()).resource), created)
  const { resources } = await container.items.readAll().fetchAll()
  assert.equal(JSON.stringify(resources[0]), created)
  const { json } = await server.send({ path: pathOf(container, 'docs') })
  assert.equal(JSON.stringify(json.Documents[0]), created)
  assert.ok(created.startsWith(JSON.stringify(item).slice(0, -1)))
})
