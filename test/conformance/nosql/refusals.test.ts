/** The texts of Azure's refusals, and what a refusal costs. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { MongoClient } from 'mongodb'
import { assertServiceError } from '../../support/service-error.ts'
import type { RawRequest } from '../../support/signed-request.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const inA = { 'x-ms-documentdb-partitionkey': '["a"]' }

const itemExists = 'Entity with the specified id already exists in the system.'
const itemMissing = 'Entity with the specified id does not exist in the system.'
const itemChanged = 'One of the specified pre-condition is not met.'
const keyTaken = 'Unique index constraint violation.'
const nameTaken = 'Resource with specified id, name, or unique index already exists.'
const ownerMissing = 'Owner resource does not exist'

async function refusal(request: RawRequest, status: number, substatus?: number): Promise<[text: string, ru: number]> {
  const answer = await server.send(request)
  return [assertServiceError(answer, status, substatus), Number(answer.headers['x-ms-request-charge'])]
}

test('Refused reads and writes of items say why, and cost what they would have cost', async () => {
  const container = await server.newContainer({ uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/email'] }] } })
  const { headers } = await container.items.create({ id: '1', pk: 'a', email: 'x' })
  const writeRu = Number(headers['x-ms-request-charge'])
  const docs = pathOf(container, 'docs')
  const [one, none] = [pathOf(container, 'docs', '1'), pathOf(container, 'docs', 'none')]
  const item = (id: string, email: string) => ({ id, pk: 'a', email })
  const stale = { ...inA, 'if-match': '"00000000-0000-0000-0000-000000000000"' }
  assert.deepEqual(await refusal({ path: none, headers: inA }, 404, 0), [itemMissing, 1])
  assert.deepEqual(await refusal({ method: 'POST', path: docs, headers: inA, body: item('1', 'y') }, 409), [
    itemExists,
    writeRu,
  ])
  assert.deepEqual(await refusal({ method: 'POST', path: docs, headers: inA, body: item('2', 'x') }, 409), [
    keyTaken,
    writeRu,
  ])
  assert.deepEqual(await refusal({ method: 'PUT', path: none, headers: inA, body: item('none', 'z') }, 404, 0), [
    itemMissing,
    writeRu,
  ])
  assert.deepEqual(await refusal({ method: 'PUT', path: one, headers: stale, body: item('1', 'z') }, 412), [
    itemChanged,
    writeRu,
  ])
  const [text, deleteRu] = await refusal({ method: 'DELETE', path: none, headers: inA }, 404, 0)
  assert.equal(text, itemMissing)
  assert.ok(deleteRu > 1, `${deleteRu}`)
  assert.deepEqual(await refusal({ method: 'DELETE', path: one, headers: stale }, 412), [itemChanged, deleteRu])
  const patch = { operations: [{ op: 'add', path: '/n', value: 1 }] }
  const [why, patchRu] = await refusal({ method: 'PATCH', path: none, headers: inA, body: patch }, 404, 0)
  assert.equal(why, itemMissing)
  assert.ok(patchRu > 1, `${patchRu}`)
})

test('An unknown database is 404 with one sub-status, and as the owner of a resource with another', async () => {
  const free = async (request: RawRequest, substatus: number) => {
    const [text, ru] = await refusal(request, 404, substatus)
    assert.equal(ru, 0)
    return text
  }
  assert.equal(await free({ path: '/dbs/none' }, 0), itemMissing)
  assert.equal(await free({ method: 'DELETE', path: '/dbs/none' }, 0), itemMissing)
  for (const path of ['/dbs/none/colls', '/dbs/none/users', '/dbs/none/colls/c', '/dbs/none/colls/c/docs']) {
    assert.equal(await free({ path }, 1003), ownerMissing, path)
  }
  const { id } = await server.newDatabase()
  for (const rest of ['', '/docs', '/docs/1', '/pkranges', '/sprocs', '/conflicts']) {
    const path = `/dbs/${id}/colls/none${rest}`
    assert.equal(await free({ path, headers: inA }, 1003), ownerMissing, path)
  }
  assert.equal(await free({ method: 'DELETE', path: `/dbs/${id}/colls/none` }, 1003), ownerMissing)
  assert.equal(await free({ path: '/offers/none' }, 0), itemMissing)
  const container = await server.newContainer()
  assert.equal(await free({ path: pathOf(container, 'conflicts', '1') }, 0), itemMissing)
})

test('Creating a database or container with a taken name is refused', async () => {
  const container = await server.newContainer()
  const { id } = container.database
  assert.deepEqual(await refusal({ method: 'POST', path: '/dbs', body: { id } }, 409), [nameTaken, 0])
  const body = { id: container.id, partitionKey: { paths: ['/pk'], kind: 'Hash' } }
  assert.deepEqual(await refusal({ method: 'POST', path: `/dbs/${id}/colls`, body }, 409), [nameTaken, 0])
})

test('A collection of the Mongo API is not a container, but its name is taken', async () => {
  await using mongo = await MongoClient.connect(server.db.mongoUri!)
  const { id } = await server.newDatabase()
  await mongo.db(id).createCollection('c')
  const [text] = await refusal({ path: `/dbs/${id}/colls/c` }, 404, 1003)
  assert.equal(text, ownerMissing)
  const body = { id: 'c', partitionKey: { paths: ['/pk'], kind: 'Hash' } }
  assert.deepEqual(await refusal({ method: 'POST', path: `/dbs/${id}/colls`, body }, 409), [nameTaken, 0])
  // The admin API is of both.
  assert.equal((await server.db.ttl.explain(id, 'c', { id: '1', partitionKey: 'a' })).state, 'unknown')
  assert.equal((await server.db.ttl.status(id, 'c')).living, 0)
})

test('The admin API and the library say which database or container there is not', async () => {
  const { id } = await server.newDatabase()
  const noContainer = `The container ${id}/none does not exist.`
  const noDatabase = 'The database none does not exist.'
  for (const [method, path, message, body] of [
    ['GET', `ttl/${id}/none`, noContainer],
    ['GET', 'ttl/none/none/forecast', noDatabase],
    ['GET', `ttl/${id}/none/explain?id=1&partitionKey=["a"]`, noContainer],
    ['POST', `ttl/${id}/none/preview`, noContainer, { defaultTtl: 1 }],
    ['POST', 'purge', noContainer, { db: id, container: 'none' }],
    ['POST', 'purge', noDatabase, { db: 'none' }],
  ] as const) {
    const { status, json } = await server.admin(method, path, body)
    assert.deepEqual([status, json], [404, { code: 'namespace_not_found', message }], path)
  }
  const { ttl } = server.db
  for (const call of [
    () => ttl.status(id, 'none'),
    () => ttl.forecast(id, 'none'),
    () => ttl.preview(id, 'none', 1),
    () => ttl.explain(id, 'none', { id: '1', partitionKey: 'a' }),
  ]) {
    await assert.rejects(call, { name: 'RequestError', kind: 'namespace_not_found', message: noContainer })
  }
})
