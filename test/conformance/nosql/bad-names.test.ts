/** Ids that databases, containers and items may have, and those they may not. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Witness } from '../../support/refusal.ts'
import { assertServiceError } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const witness = await Witness.make(server)

const byteCount = (count: number) => 'x'.repeat(count)

const goodItemIds: Readonly<Record<string, string>> = {
  'a question mark': 'a?b',
  'a hash': 'a#b',
  'a slash': 'Disallowed/Chars',
  'slashes and nothing else': '//',
  'a backslash': 'Disallowed\\Chars',
  'a tab, a carriage return and a line feed': '\t\r\n',
  'a space at the end': 'a ',
  'a per cent sign': '100%25',
  'quotes and brackets': `"'[]{}<>&;=+$,@!~*()`,
  'letters of many scripts': 'Ünïcødé-日本語-עברית-🪰',
  'two dots': '..',
  'the name of a prototype': '__proto__',
  '1,023 bytes': byteCount(1023),
  '1,023 bytes of three-byte letters': '€'.repeat(341),
}

for (const [name, id] of Object.entries(goodItemIds)) {
  test(`An item may have an id with ${name}, and is found, replaced and deleted by it`, async () => {
    const container = await server.newContainer()
    const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
    const path = pathOf(container, 'docs', id)
    const created = await server.send({
      method: 'POST',
      path: pathOf(container, 'docs'),
      headers,
      body: { id, pk: 'a' },
    })
    assert.equal(created.status, 201, created.text)
    assert.equal(created.json.id, id)
    const read = await server.send({ path, headers })
    assert.equal(read.status, 200, read.text)
    assert.equal(read.text, created.text)
    assert.equal((await server.send({ method: 'PUT', path, headers, body: { id, pk: 'a', v: 2 } })).status, 200)
    assert.equal((await server.send({ method: 'DELETE', path, headers })).status, 204)
    assert.equal((await server.send({ path, headers })).status, 404)
  })
}

test('An id with a slash is found only by a path that escapes it', async () => {
  const container = await server.newContainer()
  const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
  const body = { id: 'a/b', pk: 'a' }
  assert.equal((await server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })).status, 201)
  assert.equal((await server.send({ path: `${pathOf(container, 'docs')}/a%2fb`, headers })).status, 200)
  for (const method of ['GET', 'PUT', 'DELETE']) {
    const answer = await server.send({ method, path: `${pathOf(container, 'docs')}/a/b`, headers, body })
    assert.ok(answer.status >= 400, `${method} answered ${answer.status}`)
  }
  // The names of others are no paths either.
  const whole = `/dbs/${encodeURIComponent(`${container.database.id}/colls/${container.id}`)}`
  assertServiceError(await server.send({ path: whole }), 404, 0)
  assertServiceError(await server.send({ path: `${whole}/docs/a%2Fb`, headers }), 404, 0)
  const { result } = await container.items.batch([{ operationType: 'Delete', id: 'a/b' }], 'a')
  assert.equal(result![0]!.statusCode, 204)
})

const idTooLong =
  /^The input name '.*' is invalid\. Ensure to provide a unique non-empty string less than '1024' characters\.$/

const badItemBodies: Readonly<Record<string, [body: string, text: RegExp]>> = {
  // A backslash is accepted, but JSON needs two of them (this is what the tests of .NET send).
  'half an escape in its id': ['{"id":"a\\b\\Chars","pk":"a"}', /request payload is invalid/],
  'an id of 1,024 bytes': [`{"id":"${byteCount(1024)}","pk":"a"}`, idTooLong],
  'an id of 1,026 bytes in 342 letters': [`{"id":"${'€'.repeat(342)}","pk":"a"}`, idTooLong],
  'an empty id': ['{"id":"","pk":"a"}', idTooLong],
  'no id': ['{"pk":"a"}', /required properties - 'id; ' - are missing/],
  'an id of null': ['{"id":null,"pk":"a"}', /required properties - 'id; ' - are missing/],
  'an id that is a number': ['{"id":5,"pk":"a"}', /One of the specified inputs is invalid/],
  'an id that is true': ['{"id":true,"pk":"a"}', /One of the specified inputs is invalid/],
  'an id that is an object': ['{"id":{},"pk":"a"}', /One of the specified inputs is invalid/],
  'an id that is a list': ['{"id":["a"],"pk":"a"}', /One of the specified inputs is invalid/],
  'an id that is half a character': ['{"id":"\\ud83e","pk":"a"}', /One of the specified inputs is invalid/],
}

for (const [name, [body, text]] of Object.entries(badItemBodies)) {
  test(`An item with ${name} is refused`, async () => {
    for (const kind of ['create', 'upsert', 'replace'] as const) {
      await witness.assertRefused(witness.write(kind, body), { status: 400, text })
    }
  })
}

test('A replace with another partition key is refused, whatever its id', async () => {
  for (const id of ['one', 'two']) {
    await witness.assertRefused(witness.write('replace', { id, pk: 'other' }), { status: 400, substatus: 1001 })
  }
})

const badResourceIds: Readonly<Record<string, [id: unknown, text: RegExp]>> = {
  'a slash': ['a/b', /invalid character '\/'/],
  'a backslash': ['a\\b', /invalid character '\\'/],
  'a question mark': ['a?b', /invalid character '\?'/],
  'a hash': ['a#b', /invalid character '#'/],
  'a space at the end': ['a ', /can't end with space/],
  '256 characters': [byteCount(256), /is invalid/],
  'no characters': ['', /is invalid/],
  'the value null': [null, /'id; ' - are missing/],
  'a number': [7, /One of the specified inputs is invalid/],
  'an object': [{ id: 'a' }, /One of the specified inputs is invalid/],
}

for (const [name, [id, text]] of Object.entries(badResourceIds)) {
  test(`A database or a container whose id has ${name} is refused`, async () => {
    const { database } = witness.container
    const container = {
      method: 'POST',
      path: `/dbs/${database.id}/colls`,
      body: { id, partitionKey: { paths: ['/pk'] } },
    }
    await witness.assertRefused(container, { status: 400, text })
    const before = (await server.send({ path: '/dbs' })).text
    const said = assertServiceError(await server.send({ method: 'POST', path: '/dbs', body: { id } }), 400)
    assert.match(said, text)
    assert.equal((await server.send({ path: '/dbs' })).text, before)
  })
}

test('A database and a container may have an id of 255 characters, also from several scripts', async () => {
  for (const id of [byteCount(255), '日'.repeat(255), 'a b+c%20d&e']) {
    const { database } = await server.client.databases.create({ id })
    const { container } = await database.containers.create({ id, partitionKey: '/pk' })
    assert.equal((await container.items.create({ id: '1', pk: 'a' })).statusCode, 201)
    assert.equal((await container.item('1', 'a').read()).resource?.id, '1')
    assert.equal((await server.db.ttl.status(id, id)).living, 1)
    await database.delete()
  }
})

test('The SDK finds an item whose id has a question mark that it does not encode', async () => {
  const container = await server.newContainer()
  const id = 'Disallowed?Chars'
  assert.equal((await container.items.create({ id, pk: 'a' })).statusCode, 201)
  assert.equal((await container.item(id, 'a').read()).resource?.id, id)
  assert.equal((await container.item(id, 'a').replace({ id, pk: 'a', v: 2 })).statusCode, 200)
  assert.equal((await container.item(id, 'a').delete()).statusCode, 204)
})
