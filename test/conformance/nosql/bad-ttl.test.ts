/** Invalid times to live on items and containers: refused with Azure's text, and nothing is written. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { Witness } from '../../support/refusal.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const strict = await startServer({ strict: true })

/** The JSON as it stands in the body, and how the error shows it. */
const refused: readonly [json: string, shown: string][] = [
  ['0', '0'],
  ['-0', '0'],
  ['-2', '-2'],
  ['-2147483648', '-2147483648'],
  ['1.5', '1.5'],
  ['-1.5', '-1.5'],
  ['"10"', '"10"'],
  ['""', '""'],
  ['true', 'true'],
  ['false', 'false'],
  ['2147483648', '2147483648'],
  ['4294967296', '4294967296'],
  ['1e400', 'Infinity'],
  ['-1e400', '-Infinity'],
  ['{}', '{}'],
  ['{"a":1}', '{"a":1}'],
  ['[10]', '[10]'],
]

const textFor = (shown: string) =>
  `The input ttl '${shown}' is invalid. Ensure to provide a nonzero positive integer less than or equal to ` +
  `'2147483647', or '-1' which means never expire.`

for (const [json, shown] of refused) {
  for (const kind of ['create', 'upsert', 'replace'] as const) {
    test(`A ${kind} of an item with a ttl of ${json} is refused`, async () => {
      const witness = await Witness.make(server)
      const id = kind === 'create' ? 'two' : 'one'
      const request = witness.write(kind, `{"id":"${id}","pk":"a","ttl":${json}}`)
      await witness.assertRefused(request, { status: 400, text: textFor(shown) })
    })
  }

  test(`A container with a default TTL of ${json} is neither created nor replaced`, async () => {
    const witness = await Witness.make(server)
    const { container } = witness
    const body = (id: string) => `{"id":"${id}","partitionKey":{"paths":["/pk"]},"defaultTtl":${json}}`
    const path = `/dbs/${container.database.id}/colls`
    const refusal = { status: 400, text: textFor(shown) }
    await witness.assertRefused({ method: 'POST', path, body: body('other') }, refusal)
    await witness.assertRefused({ method: 'PUT', path: pathOf(container), body: body('items') }, refusal)
  })
}

test('An item ttl is checked even when the container has no default', async () => {
  const container = await server.newContainer()
  const answer = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
    body: { id: 'one', pk: 'a', ttl: -10 },
  })
  assert.equal(answer.status, 400)
  assert.equal((await container.item('one', 'a').read()).statusCode, 404)
})

test('A whole number is accepted however it is written', async () => {
  const witness = await Witness.make(server)
  for (const json of ['10', '1e1', '10.0', '100e-1', '-1', '-1.0', '1', '2147483647', '2.147483647e9']) {
    const { status, text } = await server.send(witness.write('upsert', `{"id":"two","pk":"a","ttl":${json}}`))
    assert.ok(status === 201 || status === 200, text)
    assert.ok(text.includes(`"ttl":${json},`), 'the number comes back as it was written')
  }
})

test('A ttl of null is accepted by default and refused under strict', async () => {
  const body = '{"id":"two","pk":"a","ttl":null}'
  const lenient = await Witness.make(server)
  for (const kind of ['create', 'upsert'] as const) {
    const { status, text } = await server.send(lenient.write(kind, body))
    assert.equal(status, kind === 'create' ? 201 : 200, text)
  }
  const witness = await Witness.make(strict)
  for (const kind of ['create', 'upsert', 'replace'] as const) {
    await witness.assertRefused(witness.write(kind, body.replace('two', kind === 'replace' ? 'one' : 'two')), {
      status: 400,
      text: textFor('null'),
    })
  }
})

test('A ttl deeper inside the item is only data', async () => {
  const witness = await Witness.make(server)
  const body = '{"id":"two","pk":"a","inner":{"ttl":0},"list":[{"ttl":"x"}]}'
  assert.equal((await server.send(witness.write('create', body))).status, 201)
})

const noneText = "Indexing mode value cannot be 'none' when 'defaultTtl' is specified in the collection"

test('A container cannot be created with both indexing mode none and a default TTL', async () => {
  const witness = await Witness.make(server)
  const path = `/dbs/${witness.container.database.id}/colls`
  for (const defaultTtl of [-1, 1000]) {
    const definition = { id: 'other', partitionKey: { paths: ['/pk'] }, defaultTtl }
    const body = { ...definition, indexingPolicy: { indexingMode: 'none' } }
    await witness.assertRefused({ method: 'POST', path, body }, { status: 400, text: noneText })
  }
})

test('A container with a default TTL cannot be switched to indexing mode none', async () => {
  const witness = await Witness.make(server)
  const { resource } = await witness.container.read()
  const body = { ...resource, indexingPolicy: { indexingMode: 'none' } }
  const request = { method: 'PUT', path: pathOf(witness.container), body }
  await witness.assertRefused(request, { status: 400, text: noneText })
})

test('A container with indexing mode none cannot be given a default TTL', async () => {
  const database = await server.newDatabase()
  const indexingPolicy = { indexingMode: 'none' } as const
  const { container } = await database.containers.create({ id: 'items', partitionKey: '/pk', indexingPolicy })
  const { resource } = await container.read()
  const body = { ...resource, defaultTtl: -1 }
  const { status, json } = await server.send({ method: 'PUT', path: pathOf(container), body })
  assert.equal(status, 400)
  assert.ok(json.message.includes(noneText))
  assert.deepEqual((await container.read()).resource, resource)
})

test('A replace that turns indexing off and removes the default TTL in one step is allowed', async () => {
  const { container } = await Witness.make(server)
  const { defaultTtl: _, ...resource } = (await container.read()).resource!
  const body = { ...resource, indexingPolicy: { indexingMode: 'none' } }
  assert.equal((await server.send({ method: 'PUT', path: pathOf(container), body })).status, 200)
})
