/** Etags, conditional requests, and answers that leave the item out. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()
const item = { id: 'one', pk: 'a' }
const keyHeader = { 'x-ms-documentdb-partitionkey': '["a"]' }
const otherEtag = '"00000000-0000-0000-0000-000000000000"'

async function containerWithItem(): Promise<{ container: Container; etag: string }> {
  const container = await server.newContainer()
  const { etag } = await container.items.create(item)
  return { container, etag }
}

const ifMatch = (condition: string) => ({ accessCondition: { type: 'IfMatch', condition } })

test('The etag of an item is quoted, is in header and body, and changes with every write', async () => {
  const container = await server.newContainer()
  const seen = new Set<string>()
  const note = ({ etag, resource }: { etag: string; resource?: { _etag: string } | undefined }) => {
    assert.match(etag, /^"[0-9a-f-]{36}"$/)
    assert.equal(resource?._etag, etag)
    seen.add(etag)
  }
  note(await container.items.create(item))
  note(await container.item('one', 'a').replace(item))
  note(await container.item('one', 'a').replace(item))
  note(await container.items.upsert(item))
  await container.item('one', 'a').delete()
  note(await container.items.create(item))
  assert.equal(seen.size, 5)
  note(await container.item('one', 'a').read())
  assert.equal(seen.size, 5, 'a read changes nothing')
})

test('A read with the current etag is 304 without a body, and with another it is 200', async () => {
  const { container, etag } = await containerWithItem()
  const get = (known: string) =>
    server.send({ path: pathOf(container, 'docs', 'one'), headers: { ...keyHeader, 'if-none-match': known } })
  const unchanged = await get(etag)
  assert.equal(unchanged.status, 304)
  assert.equal(unchanged.text, '')
  assert.equal(unchanged.headers.etag, etag)
  assert.ok(Number(unchanged.headers['x-ms-request-charge']) >= 1)
  assert.equal((await get('*')).status, 304)
  assert.equal((await get(otherEtag)).status, 200)
  await container.item('one', 'a').replace(item)
  assert.equal((await get(etag)).status, 200)
})

test('The SDK accepts a 304 as an answer', async () => {
  const { container, etag } = await containerWithItem()
  const condition = { accessCondition: { type: 'IfNoneMatch', condition: etag } }
  const { statusCode } = await container.item('one', 'a').read(condition)
  assert.equal(statusCode, 304)
})

test('A replace, a delete and an upsert succeed with the current etag or with *', async () => {
  const { container, etag } = await containerWithItem()
  const first = await container.item('one', 'a').replace({ ...item, v: 1 }, ifMatch(etag))
  assert.equal(first.statusCode, 200)
  const second = await container.items.upsert({ ...item, v: 2 }, ifMatch(first.etag))
  assert.equal(second.statusCode, 200)
  assert.equal((await container.item('one', 'a').replace({ ...item, v: 3 }, ifMatch('*'))).statusCode, 200)
  assert.equal((await container.item('one', 'a').delete(ifMatch('*'))).statusCode, 204)
})

test('A replace, a delete and an upsert with an older etag are 412 and change nothing', async () => {
  const { container, etag } = await containerWithItem()
  await container.item('one', 'a').replace({ ...item, v: 1 })
  const before = (await container.item('one', 'a').read()).resource
  for (const stale of [etag, otherEtag, '"x"', 'x', '""', '0', '"*"']) {
    assert.equal(await failureOf(container.item('one', 'a').replace({ ...item, v: 2 }, ifMatch(stale))), 412)
    assert.equal(await failureOf(container.items.upsert({ ...item, v: 2 }, ifMatch(stale))), 412)
    assert.equal(await failureOf(container.item('one', 'a').delete(ifMatch(stale))), 412)
  }
  assert.deepEqual((await container.item('one', 'a').read()).resource, before)
})

test('An etag of one container does not match in another, nor in a later one of the same name', async () => {
  const { container, etag } = await containerWithItem()
  const other = await containerWithItem()
  assert.equal(await failureOf(other.container.item('one', 'a').replace(item, ifMatch(etag))), 412)
  const { database } = container
  await container.delete()
  await database.containers.create({ id: 'items', partitionKey: '/pk' })
  await container.items.create(item)
  assert.equal(await failureOf(container.item('one', 'a').replace(item, ifMatch(etag))), 412)
})

test('Of two writers with the same etag one wins', async () => {
  const { container, etag } = await containerWithItem()
  const attempts = await Promise.allSettled(
    Array.from({ length: 10 }, (_, by) => container.item('one', 'a').replace({ ...item, by }, ifMatch(etag))),
  )
  assert.equal(attempts.filter(({ status }) => status === 'fulfilled').length, 1)
  const losers = attempts.filter(attempt => attempt.status === 'rejected')
  assert.deepEqual([...new Set(losers.map(({ reason }) => reason.code))], [412])
})

test('Of many concurrent creates of the same id, one wins', async () => {
  const container = await server.newContainer()
  const attempts = await Promise.allSettled(
    Array.from({ length: 20 }, (_, by) => container.items.create({ ...item, by })),
  )
  const winner = attempts.flatMap(attempt => (attempt.status === 'fulfilled' ? [attempt.value.resource?.by] : []))
  assert.equal(winner.length, 1)
  assert.equal((await container.item('one', 'a').read()).resource?.by, winner[0])
})

test('A write that prefers a minimal answer gets status, etag and charge, and no body', async () => {
  const container = await server.newContainer()
  const headers = { ...keyHeader, prefer: 'return=minimal' }
  const path = pathOf(container, 'docs')
  const created = await server.send({ method: 'POST', path, headers, body: item })
  const replaced = await server.send({ method: 'PUT', path: `${path}/one`, headers, body: { ...item, v: 2 } })
  const upsert = { ...headers, 'x-ms-documentdb-is-upsert': 'true' }
  const upserted = await server.send({ method: 'POST', path, headers: upsert, body: { ...item, v: 3 } })
  for (const [answer, status] of [
    [created, 201],
    [replaced, 200],
    [upserted, 200],
  ] as const) {
    assert.equal(answer.status, status)
    assert.equal(answer.text, '')
    assert.ok(Number(answer.headers['x-ms-request-charge']) > 0)
    assert.ok(answer.headers['x-ms-session-token'])
  }
  const { resource, etag } = await container.item('one', 'a').read()
  assert.equal(resource?.v, 3)
  assert.equal(upserted.headers.etag, etag)
})

test('A read of any resource answers 304 if the client names its version', async () => {
  const { database, id } = await server.newContainer()
  const container = database.container(id)
  await container.scripts.storedProcedures.create({ id: 'p', body: 'function () {}' })
  await container.scripts.triggers.create({
    id: 't',
    body: 'function () {}',
    triggerOperation: 'all' as never,
    triggerType: 'pre' as never,
  })
  await container.scripts.userDefinedFunctions.create({ id: 'f', body: 'function () {}' })
  const { user } = await database.users.create({ id: 'u' })
  await user.permissions.create({ id: 'm', permissionMode: 'read' as never, resource: container.url })
  const { json: offers } = await server.send({ path: '/offers' })
  const paths = [
    `/dbs/${database.id}`,
    pathOf(container),
    pathOf(container, 'sprocs', 'p'),
    pathOf(container, 'triggers', 't'),
    pathOf(container, 'udfs', 'f'),
    `/dbs/${database.id}/users/u`,
    `/dbs/${database.id}/users/u/permissions/m`,
    ...offers.Offers.slice(0, 1).map((offer: { _rid: string }) => `/offers/${offer._rid}`),
  ]
  for (const path of paths) {
    const { status, headers } = await server.send({ path })
    assert.equal(status, 200, path)
    const etag = String(headers.etag)
    for (const known of [etag, '*']) {
      const answer = await server.send({ path, headers: { 'if-none-match': known } })
      assert.deepEqual([answer.status, answer.text, answer.headers.etag], [304, '', etag], path)
    }
    assert.equal((await server.send({ path, headers: { 'if-none-match': '"other"' } })).status, 200, path)
  }
  const missing = await server.send({ path: '/dbs/nobody', headers: { 'if-none-match': '*' } })
  assert.equal(missing.status, 404)
})
