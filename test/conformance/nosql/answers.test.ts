/** What every answer carries: charge, session token, activity id and the names of its container. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type Container, CosmosClient } from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import type { RawAnswer, RawRequest } from '../../support/signed-request.ts'
import { pathOf, startServer, testServer } from '../../support/start-server.ts'

const server = await startServer()
const keyHeader = { 'x-ms-documentdb-partitionkey': '["a"]' }

/** An item whose body has this size, without the system properties. */
function itemOf(bytes: number): { id: string; pk: string; s: string } {
  const frame = JSON.stringify({ id: 'one', pk: 'a', s: '' })
  return { id: 'one', pk: 'a', s: 'x'.repeat(bytes - frame.length) }
}

async function charges(bytes: number): Promise<{ write: number; read: number; replace: number }> {
  const container = await server.newContainer()
  const item = itemOf(bytes)
  const { requestCharge: write } = await container.items.create(item)
  const { requestCharge: read } = await container.item('one', 'a').read()
  const { requestCharge: replace } = await container.item('one', 'a').replace(item)
  return { write, read, replace }
}

function assertNear(actual: number, expected: number): void {
  assert.ok(Math.abs(actual - expected) <= expected * 0.15, `${actual} is near ${expected}`)
}

test('A read of 1 KB costs 1 RU and a write about 5', async () => {
  // With its system properties the item is a little over 200 bytes larger.
  const { write, read, replace } = await charges(1024 - 250)
  assert.equal(read, 1)
  assertNear(write, 5)
  assert.equal(replace, write)
})

test('A read of 100 KB costs about 10 RU and a write about 50', async () => {
  const { write, read, replace } = await charges(100 * 1024)
  assertNear(read, 10)
  assertNear(write, 50)
  assert.equal(replace, write)
})

test('A larger item never costs less', async () => {
  let last = { write: 0, read: 0 }
  for (const bytes of [100, 1000, 2000, 10_000, 50_000, 500_000]) {
    const { write, read } = await charges(bytes)
    assert.ok(write >= last.write && read >= last.read)
    last = { write, read }
  }
})

/** One of every kind of request, good and bad. */
function everyRequest(container: Container): RawRequest[] {
  const path = pathOf(container)
  const body = { id: 'one', pk: 'a' }
  return [
    { path: '/' },
    { path: '/dbs' },
    { path: `/dbs/${container.database.id}` },
    { path: `/dbs/${container.database.id}/colls` },
    { path },
    { path: `${path}/pkranges` },
    { path: '/offers' },
    { method: 'POST', path: `${path}/docs`, headers: keyHeader, body },
    { path: `${path}/docs/one`, headers: keyHeader },
    { path: `${path}/docs/one`, headers: { ...keyHeader, 'if-none-match': '*' } },
    { method: 'HEAD', path: `${path}/docs/one`, headers: keyHeader },
    { method: 'PUT', path: `${path}/docs/one`, headers: keyHeader, body },
    { path: `${path}/docs` },
    { method: 'POST', path: `${path}/docs`, headers: keyHeader, body },
    { method: 'POST', path: `${path}/docs`, headers: keyHeader, body: 'not json' },
    { method: 'PUT', path: `${path}/docs/one`, headers: { ...keyHeader, 'if-match': '"x"' }, body },
    { method: 'DELETE', path: `${path}/docs/one`, headers: keyHeader },
    { path: `${path}/docs/one`, headers: keyHeader },
    { path: '/nothing' },
    { path: '/dbs', headers: { authorization: 'wrong' } },
    { path: '/dbs', date: new Date(0).toUTCString() },
    { method: 'PURGE', path: '/dbs' },
  ]
}

test('Every answer has a charge, and an activity id that no other answer has', async () => {
  const container = await server.newContainer()
  const answers: RawAnswer[] = []
  for (const request of everyRequest(container)) answers.push(await server.send(request))
  const statuses = [...new Set(answers.map(({ status }) => status))].sort()
  assert.deepEqual(statuses, [200, 201, 204, 304, 400, 401, 403, 404, 405, 409, 412])
  for (const { status, headers } of answers) {
    assert.match(String(headers['x-ms-request-charge']), /^\d+(\.\d{1,2})?$/, `charge of a ${status}`)
    assert.match(String(headers['x-ms-activity-id']), /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
    assert.equal(headers['content-type'], status === 204 || status === 304 ? undefined : 'application/json')
  }
  assert.equal(new Set(answers.map(({ headers }) => headers['x-ms-activity-id'])).size, answers.length)
})

test('Operations on items cost something, whether they succeed or fail', async () => {
  const container = await server.newContainer()
  for (const request of everyRequest(container)) {
    if (!request.path.includes('/docs')) continue
    const { status, headers } = await server.send(request)
    if (status !== 400) assert.ok(Number(headers['x-ms-request-charge']) >= 1, `${request.method} ${status}`)
  }
})

test('Session tokens name a range and a version that grows with every write', async () => {
  const container = await server.newContainer()
  const tokens: string[] = []
  for (let at = 0; at < 3; at++) {
    const { headers } = await container.items.upsert({ id: 'one', pk: 'a', at })
    tokens.push(String(headers['x-ms-session-token']))
  }
  const versions = tokens.map(token => Number((/^0:-1#(\d+)$/.exec(token) ?? assert.fail(token))[1]))
  assert.deepEqual(
    versions,
    versions.toSorted((a, b) => a - b),
  )
  assert.equal(new Set(versions).size, 3)
  const { headers } = await container.item('one', 'a').read()
  assert.equal(headers['x-ms-session-token'], tokens[2])
})

test('A session token names the range that contains the partition key', async () => {
  await using db = await mayfly({ clock: 'manual', partitions: 5 })
  const five = testServer(db)
  const container = await five.newContainer()
  const used = new Set<string>()
  for (let at = 0; at < 30; at++) {
    const id = String(at)
    const { headers } = await container.items.create({ id, pk: id })
    const [, range] = /^(\d+):-1#\d+$/.exec(String(headers['x-ms-session-token'])) ?? assert.fail()
    used.add(range!)
    const feed = await five.send({
      path: pathOf(container, 'docs'),
      headers: { 'x-ms-documentdb-partitionkeyrangeid': range },
    })
    assert.ok(feed.json.Documents.some((found: { id: string }) => found.id === id))
  }
  assert.deepEqual([...used].sort(), ['0', '1', '2', '3', '4'])
})

test('The SDK reads its own writes in a session', async () => {
  const container = await server.newContainer({ throughput: 20_000 })
  const { endpoint, key } = server.db
  const client = new CosmosClient({ endpoint, key, consistencyLevel: 'Session' })
  const same = client.database(container.database.id).container('items')
  for (let at = 0; at < 10; at++) {
    await same.items.upsert({ id: String(at), pk: String(at), at })
    assert.equal((await same.item(String(at), String(at)).read()).resource?.at, at)
  }
})

test('Answers about items name their container, by its resource id and by its path', async () => {
  const container = await server.newContainer()
  const { _rid } = (await container.read()).resource!
  const { headers } = await container.items.create({ id: 'one', pk: 'a' })
  assert.equal(headers['x-ms-content-path'], _rid)
  assert.equal(headers['x-ms-alt-content-path'], `dbs/${container.database.id}/colls/items`)
  assert.equal(headers.lsn, String(headers['x-ms-session-token']).split('#')[1])
})

test('The names of a container are encoded in headers, whatever characters they contain', async () => {
  const { database } = await server.client.databases.create({ id: 'Läden \r\n 日本' })
  const { container } = await database.containers.create({ id: '🪰 "x"', partitionKey: '/pk' })
  const { headers } = await container.items.create({ id: 'one', pk: 'a' })
  assert.equal(decodeURI(String(headers['x-ms-alt-content-path'])), 'dbs/Läden \r\n 日本/colls/🪰 "x"')
})

test('An item has a resource id of 16 bytes that begins with its container’s, and a link made of it', async () => {
  const container = await server.newContainer()
  const { _rid: containerRid, _self } = (await container.read()).resource!
  const { resource } = await container.items.create({ id: 'one', pk: 'a' })
  const bytes = (rid: string) => Buffer.from(rid.replaceAll('-', '/'), 'base64')
  assert.equal(bytes(resource!._rid).length, 16)
  assert.deepEqual(bytes(resource!._rid).subarray(0, 8), bytes(containerRid))
  assert.equal(resource!._self, `${_self}docs/${resource!._rid}/`)
})

test('A feed shows the number of its items in body and header, and its last page has no continuation', async () => {
  const container = await server.newContainer()
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: id })
  const path = pathOf(container, 'docs')
  const first = await server.send({ path, headers: { 'x-ms-max-item-count': '2' } })
  assert.deepEqual([first.json._count, first.headers['x-ms-item-count']], [2, '2'])
  const continuation = first.headers['x-ms-continuation'] as string
  const second = await server.send({ path, headers: { 'x-ms-continuation': continuation } })
  assert.deepEqual([second.json._count, second.headers['x-ms-item-count']], [1, '1'])
  assert.equal('x-ms-continuation' in second.headers, false)
  const rid = (await container.read()).resource!._rid
  assert.equal(first.json._rid, rid)
})

test('A page of a feed stops at 4 MB', async () => {
  const container = await server.newContainer()
  const s = 'x'.repeat(1_500_000)
  for (const id of ['1', '2', '3', '4']) await container.items.create({ id, pk: id, s })
  const path = pathOf(container, 'docs')
  const first = await server.send({ path })
  assert.equal(first.json._count, 2)
  const continuation = first.headers['x-ms-continuation'] as string
  assert.equal((await server.send({ path, headers: { 'x-ms-continuation': continuation } })).json._count, 2)
})

test('Answers about items say which range they come from', async () => {
  const container = await server.newContainer({ throughput: 30_000 })
  const ranges = (await container.readPartitionKeyRanges().fetchAll()).resources
  assert.ok(ranges.length > 1)
  const seen = new Set<string>()
  for (let pk = 0; pk < 20; pk++) {
    const { headers } = await container.items.create({ id: '1', pk: String(pk) })
    const id = String(headers['x-ms-documentdb-partitionkeyrangeid'])
    assert.equal(String(headers['x-ms-session-token']).split(':')[0], id)
    const read = await container.item('1', String(pk)).read()
    assert.equal(read.headers['x-ms-documentdb-partitionkeyrangeid'], id)
    seen.add(id)
  }
  assert.deepEqual([...seen].sort(), ranges.map(({ id }) => id).sort())
})

test('A read of a container can have statistics of its ranges', async () => {
  const container = await server.newContainer({ throughput: 30_000, defaultTtl: -1 })
  for (let pk = 0; pk < 10; pk++) await container.items.create({ id: '1', pk: String(pk), ttl: pk < 4 ? 5 : -1 })
  await server.db.clock.advance('5s')
  const headers = { 'x-ms-documentdb-populatepartitionstatistics': 'true' }
  const { json } = await server.send({ path: pathOf(container), headers })
  const ranges = (await container.readPartitionKeyRanges().fetchAll()).resources
  const { statistics } = json as { statistics: { id: string; documentCount: number }[] }
  assert.deepEqual(
    statistics.map(({ id }) => id),
    ranges.map(({ id }) => id),
  )
  assert.equal(
    statistics.reduce((sum, { documentCount }) => sum + documentCount, 0),
    6,
  )
  assert.equal((await server.send({ method: 'PUT', path: pathOf(container), body: json })).status, 200)
})
