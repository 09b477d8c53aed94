/** The change feed of all versions and deletes: every change of an item, in order, deaths included. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { ChangeFeedStartFrom } from '@azure/cosmos'
import { changeFeedPolicy, allVersions as read, told } from '../../support/all-versions-feed.ts'
import { drain } from '../../support/drain-feed.ts'
import { assertServiceError } from '../../support/service-error.ts'
import { pathOf, startServer } from '../../support/start-server.ts'

const server = await startServer()

const logged = (definition = {}) => server.newContainer({ defaultTtl: -1, changeFeedPolicy, ...definition })

test('Every version and delete is reported, in order, with the version before it', async () => {
  const container = await logged()
  const iterator = read(container, ChangeFeedStartFrom.Now())
  assert.deepEqual((await drain(iterator)).changes, [])
  const start = server.db.clock.now()
  const { resource: first } = await container.items.create({ id: 'one', pk: 'a', v: 1 })
  await container.items.upsert({ id: 'one', pk: 'a', v: 2 })
  await container.item('one', 'a').patch([{ op: 'incr', path: '/v', value: 1 }])
  await container.items.batch(
    [
      { operationType: 'Create', resourceBody: { id: 'two', pk: 'a', v: 1 } },
      { operationType: 'Replace', id: 'two', resourceBody: { id: 'two', pk: 'a', v: 2 } },
    ],
    'a',
  )
  await server.db.clock.advance('3s')
  const { resource: last } = await container.item('one', 'a').read<{ id: string; v: number }>()
  await container.item('one', 'a').delete()
  const { changes } = await drain(iterator)
  assert.deepEqual(told(changes), [
    'create one 1',
    'replace one 2',
    'replace one 3',
    'create two 1',
    'replace two 2',
    'delete one',
  ])
  assert.deepEqual(changes[0], {
    current: first,
    metadata: { lsn: changes[0]!.metadata.lsn, crts: start, operationType: 'create' },
  })
  const lsns = changes.map(({ metadata }) => metadata.lsn)
  assert.deepEqual(
    lsns,
    lsns.toSorted((a, b) => a - b),
  )
  assert.deepEqual(
    changes.map(({ metadata }) => metadata.previousImageLSN),
    [undefined, lsns[0], lsns[1], undefined, lsns[3], lsns[2]],
  )
  assert.deepEqual(changes[5], {
    current: {},
    metadata: {
      lsn: lsns[5],
      crts: start + 3,
      operationType: 'delete',
      timeToLiveExpired: false,
      previousImageLSN: lsns[2],
      id: 'one',
      partitionKey: { pk: 'a' },
    },
    previous: last,
  })
})

test('A death is reported once, when the item is removed, with the item that died', async () => {
  const container = await logged({ defaultTtl: 10 })
  const iterator = read(container, ChangeFeedStartFrom.Now())
  await drain(iterator)
  const { resource } = await container.items.create({ id: 'one', pk: 'a', v: 1 })
  await container.items.create({ id: 'two', pk: 'a', v: 1, ttl: 5 })
  assert.deepEqual(told((await drain(iterator)).changes), ['create one 1', 'create two 1'])
  await server.db.clock.advance('5s')
  await server.db.purge()
  assert.deepEqual(told((await drain(iterator)).changes), ['expire two'])
  await server.db.clock.advance('5s')
  await server.db.purge()
  await server.db.purge()
  const { changes } = await drain(iterator)
  assert.deepEqual(told(changes), ['expire one'])
  assert.equal(changes[0]?.metadata.operationType, 'delete')
  assert.deepEqual(changes[0]?.previous, resource)
  assert.deepEqual((await drain(iterator)).changes, [])
})

test('A death is reported before the create that replaces the dead item', async () => {
  const container = await logged()
  const iterator = read(container, ChangeFeedStartFrom.Now())
  await drain(iterator)
  await container.items.create({ id: 'one', pk: 'a', v: 1, ttl: 5 })
  await server.db.clock.advance('5s')
  await container.items.create({ id: 'one', pk: 'a', v: 2 })
  await server.db.purge()
  assert.deepEqual(told((await drain(iterator)).changes), ['create one 1', 'expire one', 'create one 2'])
})

test('The feed of a part of a container reports only changes in that part', async () => {
  const partitionKey = { paths: ['/tenant', '/user'], kind: 'MultiHash', version: 2 } as never
  const container = await logged({ partitionKey, throughput: 30_000 })
  const whole = read(container, ChangeFeedStartFrom.Now())
  const one = read(container, ChangeFeedStartFrom.Now(['t1', 'u1'] as never))
  const prefix = read(container, ChangeFeedStartFrom.Now(['t1'] as never))
  for (const iterator of [whole, one, prefix]) assert.deepEqual((await drain(iterator)).changes, [])
  for (const tenant of ['t1', 't2']) {
    for (const user of ['u1', 'u2'])
      await container.items.create({ id: `${tenant}${user}`, tenant, user, v: 1, ttl: 5 })
  }
  await server.db.clock.advance('5s')
  await server.db.purge()
  assert.deepEqual(told((await drain(one)).changes), ['create t1u1 1', 'expire t1u1'])
  const ofTenant = (await drain(prefix)).changes
  assert.deepEqual(told(ofTenant).toSorted(), ['create t1u1 1', 'create t1u2 1', 'expire t1u1', 'expire t1u2'])
  assert.deepEqual(ofTenant.find(({ metadata }) => metadata.id === 't1u2')?.metadata.partitionKey, {
    tenant: 't1',
    user: 'u2',
  })
  assert.equal((await drain(whole)).changes.length, 8)
})

test('The feed cannot start before its retention, or in a container that wants none', async () => {
  const container = await logged()
  await container.items.create({ id: '1', pk: 'a' })
  const retention = /You must read the change feed from within the retention period\./
  await assert.rejects(read(container, ChangeFeedStartFrom.Beginning()).readNext(), { code: 400, message: retention })
  const recently = new Date((server.db.clock.now() - 10) * 1000)
  await assert.rejects(read(container, ChangeFeedStartFrom.Time(recently)).readNext(), {
    code: 400,
    message: retention,
  })
  const silent = await server.newContainer()
  await assert.rejects(read(silent, ChangeFeedStartFrom.Beginning()).readNext(), { code: 400, message: retention })
  const off = await server.newContainer({ changeFeedPolicy: { retentionDuration: 0 } as never })
  await assert.rejects(read(off, ChangeFeedStartFrom.Now()).readNext(), { code: 400, message: retention })
})

test('Without a policy the feed begins with its first reader, and survives a replace of the container', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  await container.items.create({ id: 'before', pk: 'a', v: 1 })
  const iterator = read(container, ChangeFeedStartFrom.Now())
  assert.deepEqual((await drain(iterator)).changes, [])
  await container.items.create({ id: '1', pk: 'a', v: 1, ttl: 20 })
  await container.item('before', 'a').delete()
  const { resource } = await container.read()
  assert.equal('changeFeedPolicy' in resource!, false)
  await container.replace({ ...resource, defaultTtl: 100 } as never)
  await server.db.clock.advance('20s')
  await server.db.purge()
  assert.deepEqual(told((await drain(iterator)).changes), ['create 1 1', 'delete before', 'expire 1'])
})

test('Changes older than the retention are forgotten, and a continuation from then is refused', async () => {
  const container = await logged()
  const { continuation } = await drain(read(container, ChangeFeedStartFrom.Now()))
  await container.items.create({ id: '1', pk: 'a', v: 1 })
  await server.db.clock.advance('299s')
  const resumed = await drain(read(container, ChangeFeedStartFrom.Continuation(continuation)))
  assert.deepEqual(told(resumed.changes), ['create 1 1'])
  await server.db.clock.advance('1s')
  const late = read(container, ChangeFeedStartFrom.Continuation(continuation)).readNext()
  await assert.rejects(late, { code: 400, message: /within the retention period/ })
  assert.deepEqual((await drain(read(container, ChangeFeedStartFrom.Continuation(resumed.continuation)))).changes, [])
})

test('A retention can be added later, and removed', async () => {
  const container = await server.newContainer({ defaultTtl: -1 })
  await container.items.create({ id: 'before', pk: 'a', v: 1, ttl: 20 })
  const { resource } = await container.read()
  await container.replace({ ...resource, changeFeedPolicy } as never)
  const iterator = read(container, ChangeFeedStartFrom.Now())
  await drain(iterator)
  await container.items.create({ id: 'after', pk: 'a', v: 1 })
  await server.db.clock.advance('20s')
  await server.db.purge()
  assert.deepEqual(told((await drain(iterator)).changes), ['create after 1', 'expire before'])
  const { changeFeedPolicy: _, ...without } = (await container.read()).resource as unknown as Record<string, unknown>
  await container.replace(without as never)
  await assert.rejects(iterator.readNext(), { code: 400 })
})

test('The two feeds refuse each other’s continuations', async () => {
  const container = await logged()
  const etagOf = async (mode: string) => {
    const headers = { 'a-im': mode, 'if-none-match': '*', 'x-ms-cosmos-changefeed-wire-format-version': '2021-09-15' }
    const answer = await server.send({ path: pathOf(container, 'docs'), headers })
    assert.equal(answer.status, 304)
    return String(answer.headers.etag)
  }
  const modes = ['Incremental Feed', 'Full-Fidelity Feed']
  for (const mode of modes) {
    const other = modes.find(each => each !== mode)!
    const headers = { 'a-im': mode, 'if-none-match': await etagOf(other) }
    assertServiceError(await server.send({ path: pathOf(container, 'docs'), headers }), 400)
  }
})
