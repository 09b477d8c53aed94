/**
 * Stored procedures, triggers and user-defined functions as resources: created, read, listed, queried,
 * replaced and deleted.
 */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container } from '@azure/cosmos'
import { assertServiceError, failureOf } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

const trigger = { triggerOperation: 'All', triggerType: 'Pre' }
const kinds = [
  {
    kind: 'sprocs',
    feed: 'StoredProcedures',
    many: 'storedProcedures',
    one: 'storedProcedure',
    more: {},
    max: 100,
    mark: 0x80,
  },
  { kind: 'triggers', feed: 'Triggers', many: 'triggers', one: 'trigger', more: trigger, max: 25, mark: 0x70 },
  {
    kind: 'udfs',
    feed: 'UserDefinedFunctions',
    many: 'userDefinedFunctions',
    one: 'userDefinedFunction',
    more: {},
    max: 50,
    mark: 0x60,
  },
] as const

// biome-ignore lint/suspicious/noExplicitAny: three classes with the same methods.
const scriptsOf = (container: Container): any => container.scripts

for (const { kind, feed, many, one, more, max, mark } of kinds) {
  test(`/${kind} can be created, read, listed, queried, replaced and deleted`, async () => {
    const container = await server.newContainer()
    const scripts = scriptsOf(container)
    const body = 'function () { return "ä"; }'
    const made = await scripts[many].create({ id: 'one', body, ...more })
    assert.equal(made.statusCode, 201)
    const { resource } = made
    const { _rid, _self, _etag, _ts, ...rest } = resource
    assert.deepEqual(rest, { id: 'one', body, ...more })
    const owner = (await container.read()).resource!
    assert.ok(_self.startsWith(`${owner._self}${kind}/`))
    const bytes = Buffer.from(_rid.replaceAll('-', '/'), 'base64')
    assert.equal(bytes.length, 16)
    assert.equal(bytes[15], mark)
    assert.equal(_ts, server.db.clock.now())
    assert.equal(made.headers.etag, _etag)
    assert.deepEqual((await scripts[one]('one').read()).resource, resource)
    assert.equal(await failureOf(scripts[many].create({ id: 'one', body, ...more })), 409)
    await scripts[many].create({ id: 'two', body, ...more })
    const names = async () => (await scripts[many].readAll().fetchAll()).resources.map(({ id }: { id: string }) => id)
    assert.deepEqual(await names(), ['one', 'two'])
    const raw = await server.send({ path: pathOf(container, kind) })
    assert.deepEqual(Object.keys(raw.json), ['_rid', feed, '_count'])
    const found = await scripts[many].query('SELECT VALUE c.id FROM c WHERE c.id = "two"').fetchAll()
    assert.deepEqual(found.resources, ['two'])
    const replaced = await scripts[one]('one').replace({ id: 'one', body: 'function () {}', ...more })
    assert.equal(replaced.statusCode, 200)
    assert.notEqual(replaced.resource._etag, _etag)
    assert.equal(replaced.resource._rid, _rid)
    assert.equal(await failureOf(scripts[one]('none').replace({ id: 'none', body, ...more })), 404)
    assert.equal((await scripts[one]('one').delete()).statusCode, 204)
    assert.equal(await failureOf(scripts[one]('one').read()), 404)
    assert.equal(await failureOf(scripts[one]('one').delete()), 404)
    assert.deepEqual(await names(), ['two'])
  })

  test(`/${kind} belong to one container, and are deleted with it`, async () => {
    const container = await server.newContainer()
    const other = await container.database.containers.create({ id: 'other', partitionKey: '/pk' })
    await scriptsOf(container)[many].create({ id: 'one', body: 'function () {}', ...more })
    assert.deepEqual((await scriptsOf(other.container)[many].readAll().fetchAll()).resources, [])
    await container.delete()
    assert.equal(await failureOf(scriptsOf(container)[many].readAll().fetchAll()), 404)
    await container.database.containers.create({ id: 'items', partitionKey: '/pk' })
    assert.deepEqual((await scriptsOf(container)[many].readAll().fetchAll()).resources, [])
  })

  test(`/${kind} are limited in size`, async () => {
    const container = await server.newContainer()
    const scripts = scriptsOf(container)
    for (let n = 0; n < max; n++) await scripts[many].create({ id: String(n), body: 'function () {}', ...more })
    assert.equal(await failureOf(scripts[many].create({ id: 'more', body: 'function () {}', ...more })), 403)
    assert.equal(await failureOf(scripts[many].create({ id: '7', body: 'function () {}', ...more })), 409)
  })
}

test('Bad scripts are refused', async () => {
  const container = await server.newContainer()
  const post = (kind: string, body: unknown) => server.send({ method: 'POST', path: pathOf(container, kind), body })
  for (const { kind, more } of kinds) {
    for (const body of [
      {},
      { id: 'x', ...more },
      { id: 'x', body: 7, ...more },
      { body: 'x', ...more },
      { id: 'a/b', body: 'x', ...more },
      { id: '', body: 'x', ...more },
      [],
      'x',
      '{',
    ]) {
      assertServiceError(await post(kind, body), 400)
    }
    assertServiceError(await post(kind, { id: 'x', body: 'x'.repeat(300_000), ...more }), 413)
  }
  for (const wrong of [
    {},
    { triggerOperation: 'All' },
    { triggerOperation: 'Sometimes', triggerType: 'Pre' },
    { triggerOperation: 'All', triggerType: 'During' },
  ]) {
    assertServiceError(await post('triggers', { id: 'x', body: 'x', ...wrong }), 400)
  }
  assert.deepEqual((await container.scripts.triggers.readAll().fetchAll()).resources, [])
  const path = pathOf(container, 'udfs', 'x')
  await container.scripts.userDefinedFunctions.create({ id: 'x', body: 'function () {}' })
  assertServiceError(await server.send({ method: 'PUT', path, body: { id: 'y', body: 'x' } }), 400)
  assertServiceError(
    await server.send({ method: 'PUT', path, headers: { 'if-match': '"x"' }, body: { id: 'x', body: 'x' } }),
    412,
  )
  assertServiceError(await server.send({ method: 'POST', path, body: [] }), 405)
})
