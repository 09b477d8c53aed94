/** Enforced throughput: 429 when a second's request units are used up; clients that wait succeed. */

import assert from 'node:assert/strict'
import test from 'node:test'
import { type Container, CosmosClient } from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import { assertServiceError } from '../../support/service-error.ts'
import type { RawAnswer } from '../../support/signed-request.ts'
import { pathOf, startServer, testServer } from '../../support/start-server.ts'

const server = await startServer({ rateLimit: true })

/** About 50 RU: eight of them fit into the 400 RU of a second. */
const text = 'x'.repeat(100 * 1024)

let made = 0

function write(container: Container): Promise<RawAnswer> {
  const body = { id: String(made++), pk: 'a', text }
  const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
  return server.send({ method: 'POST', path: pathOf(container, 'docs'), headers, body })
}

function read(container: Container, id: string): Promise<RawAnswer> {
  const headers = { 'x-ms-documentdb-partitionkey': '["a"]' }
  return server.send({ path: pathOf(container, 'docs', id), headers })
}

/**
 * Uses up a second of the container and returns the refusal. Enough of that second is left for further
 * requests.
 */
async function exhaust(container: Container): Promise<RawAnswer> {
  for (let tries = 0; tries < 1000; tries++) {
    const answer = await write(container)
    if (answer.status === 429 && Number(answer.headers['x-ms-retry-after-ms']) > 400) return answer
  }
  return assert.fail('the container was never throttled')
}

test('A second of 400 RU admits 400 RU and refuses the rest with 429, 3200 and a time to wait', async () => {
  const container = await server.newContainer()
  const answers = await Promise.all(Array.from({ length: 40 }, () => write(container)))
  const refused = answers.filter(({ status }) => status === 429)
  const stored = answers.filter(({ status }) => status === 201)
  assert.equal(refused.length + stored.length, 40)
  // The forty requests may fall into two seconds, and a slow machine may need a third.
  assert.ok(stored.length >= 7 && stored.length <= 24, `${stored.length} were let through`)
  for (const answer of refused) {
    assert.match(assertServiceError(answer, 429, 3200), /Request rate is large/)
    const waitMs = Number(answer.headers['x-ms-retry-after-ms'])
    assert.ok(Number.isInteger(waitMs) && waitMs >= 1 && waitMs <= 1000, `wait ${waitMs} ms`)
  }
  const { living } = await server.db.ttl.status(container.database.id, 'items')
  assert.equal(living, stored.length, 'a refused write has written nothing')
})

test('While a container is throttled, reads are refused as well, but its definition can still be read', async () => {
  const container = await server.newContainer()
  await container.items.create({ id: 'one', pk: 'a', text })
  await exhaust(container)
  // The rest is less than a write costs, but a few reads may fit.
  const reads = await Promise.all(Array.from({ length: 10 }, () => read(container, 'one')))
  assert.ok(reads.some(({ status }) => status === 429))
  assert.equal((await server.send({ path: pathOf(container) })).status, 200)
})

test('The load on one container does not throttle another', async () => {
  const [busy, idle] = [await server.newContainer(), await server.newContainer()]
  await exhaust(busy)
  assert.equal((await write(idle)).status, 201)
})

test('Containers that share their database’s throughput are throttled together, others are not', async () => {
  const { database } = await server.client.databases.create({ id: 'shared', throughput: 400 })
  const make = async (id: string, throughput?: number) => {
    const own = throughput === undefined ? {} : { throughput }
    return (await database.containers.create({ id, partitionKey: '/pk', ...own })).container
  }
  const [first, second, own] = [await make('first'), await make('second'), await make('own', 400)]
  await exhaust(first)
  assert.equal((await write(second)).status, 429)
  assert.equal((await write(own)).status, 201)
})

test('A higher throughput takes effect at once', async () => {
  const container = await server.newContainer()
  await exhaust(container)
  const { resource } = await container.readOffer()
  await server.client
    .offer(resource!.id!)
    .replace({ ...resource!, content: { ...resource!.content!, offerThroughput: 10_000 } })
  assert.equal((await write(container)).status, 201)
})

test('An operation that costs more than a whole second’s throughput is allowed in an unused second', async () => {
  const container = await server.newContainer()
  const body = { id: 'huge', pk: 'a', text: 'x'.repeat(2 * 1024 * 1024 - 100) }
  const answer = await server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: { 'x-ms-documentdb-partitionkey': '["a"]' },
    body,
  })
  assert.equal(answer.status, 201)
})

test('The SDK waits for the stated time and succeeds', async () => {
  const container = await server.newContainer()
  const { endpoint, key } = server.db
  const patient = new CosmosClient({ endpoint, key }).database(container.database.id).container('items')
  await exhaust(container)
  const { statusCode, headers } = await patient.items.create({ id: 'late', pk: 'a', text })
  assert.equal(statusCode, 201)
  assert.ok(Number(headers['x-ms-throttle-retry-count']) >= 1)
  assert.ok(Number(headers['x-ms-throttle-retry-wait-time-ms']) >= 1)
})

test('Without a rate limit nobody is refused', async () => {
  await using db = await mayfly({ clock: 'manual' })
  const free = testServer(db)
  const container = await free.newContainer()
  const answers = await Promise.all(
    Array.from({ length: 40 }, (_, at) => container.items.create({ id: String(at), pk: 'a', text })),
  )
  assert.ok(answers.every(({ statusCode }) => statusCode === 201))
})
