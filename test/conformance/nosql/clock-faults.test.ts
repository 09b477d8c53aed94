/** Servers whose machine shows a wrong time: what clients see, what is removed, and what the server says. */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { ChangeFeedMode, ChangeFeedStartFrom, type Container } from '@azure/cosmos'
import { eventually, serverWithTime } from '../../support/server-with-time.ts'

const begin = 1_900_000_000
const day = 86_400
const year = 365 * day

async function newContainer(world: Awaited<ReturnType<typeof serverWithTime>>, defaultTtl: number): Promise<void> {
  const { database } = await world.client().databases.create({ id: 'd' })
  await database.containers.create({ id: 'c', partitionKey: '/pk', defaultTtl })
}

function containerOf(world: Awaited<ReturnType<typeof serverWithTime>>): Container {
  return world.client().database('d').container('c')
}

async function shown(container: Container): Promise<string[]> {
  const { resources } = await container.items.query('SELECT VALUE c.id FROM c').fetchAll()
  return resources.sort()
}

async function purge(world: Awaited<ReturnType<typeof serverWithTime>>) {
  return (await world.admin('POST', '/_mayfly/purge')).json
}

async function metric(world: Awaited<ReturnType<typeof serverWithTime>>): Promise<number> {
  const { text } = await world.admin('GET', '/metrics')
  return Number(/^mayfly_clock_doubt_seconds (\d+)$/m.exec(text)![1])
}

test('ten years ahead for five seconds, and back', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, 30 * day)
  const container = containerOf(world)
  await container.items.create({ id: 'a', pk: 'p' })
  assert.equal(await metric(world), 0)

  world.time.step(10 * year)
  assert.deepEqual(await shown(container), [])
  world.time.pass(5)
  assert.deepEqual(await purge(world), { removed: 0, remaining: 1 })
  const doubt = { kind: 'step', since: begin + 10 * year, sure: begin + 5, aheadSeconds: 10 * year }
  const state = { now: begin + 10 * year + 5, mode: 'system', doubt }
  assert.deepEqual((await world.admin('GET', '/_mayfly/clock')).json, state)
  assert.deepEqual((await world.admin('GET', '/status')).json.clock, state)
  assert.equal(await metric(world), 10 * year)
  const { resource: late } = await container.items.create({ id: 'late', pk: 'p', ttl: 100 })
  assert.equal(late?._ts, begin + 10 * year + 5)

  world.time.step(-10 * year)
  assert.deepEqual(await shown(container), ['a', 'late'])
  assert.deepEqual((await world.admin('GET', '/_mayfly/clock')).json, { now: begin + 5, mode: 'system' })
  await eventually(async () => (await container.item('late', 'p').read()).resource._ts === begin + 5)
  const { resource: corrected } = await container.item('late', 'p').read()
  assert.equal(corrected._etag, late?._etag, 'the item did not change')
  world.time.pass(100)
  assert.deepEqual(await shown(container), ['a'])
  assert.deepEqual(
    world.lines.map(({ level }) => level),
    ['warn', 'warn'],
    'one line when it begins, one when it ends',
  )
  assert.match(world.lines[0]!.message, /jumped ahead.*mayfly clock trust/)
  assert.match(world.lines[1]!.message, /has come back/)
})

test('ahead for good: removed when the time has passed, or when somebody trusts it', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, -1)
  const container = containerOf(world)
  await container.items.create({ id: 'short', pk: 'p', ttl: 1000 })
  await container.items.create({ id: 'long', pk: 'p', ttl: 30 * day })
  world.time.step(60 * day)
  assert.deepEqual(await shown(container), [])
  assert.deepEqual(await purge(world), { removed: 0, remaining: 2 })
  world.time.pass(1000)
  // The purger may have been faster.
  assert.equal((await purge(world)).remaining, 1)
  assert.deepEqual((await world.admin('POST', '/_mayfly/clock', { trust: false })).status, 400)
  const trusted = await world.admin('POST', '/_mayfly/clock', { trust: true })
  assert.deepEqual(trusted.json, { now: begin + 60 * day + 1000, mode: 'system' })
  assert.equal((await purge(world)).remaining, 0)
  assert.match(world.lines.at(-1)!.message, /trusted/)
})

test('a default that is changed in a wrong time does not make the fault final', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, 30 * day)
  const container = containerOf(world)
  await container.items.create({ id: 'a', pk: 'p' })
  await container.items.create({ id: 'own', pk: 'p', ttl: 30 * day })
  world.time.step(10 * year)
  assert.deepEqual(await shown(container), [])
  const { resource: definition } = await container.read()
  await container.replace({ ...definition!, defaultTtl: 20 * day })
  world.time.step(-10 * year)
  assert.deepEqual(await shown(container), ['a', 'own'])
})

test('a log keeps its entries in a wrong time', async () => {
  await using world = await serverWithTime(begin)
  const { database } = await world.client().databases.create({ id: 'd' })
  const changeFeedPolicy = { retentionDuration: 60 }
  await database.containers.create({ id: 'c', partitionKey: '/pk', changeFeedPolicy } as never)
  const container = containerOf(world)
  const feed = container.items.getChangeFeedIterator({
    changeFeedStartFrom: ChangeFeedStartFrom.Now(),
    changeFeedMode: ChangeFeedMode.AllVersionsAndDeletes,
  })
  await feed.readNext()
  await container.items.create({ id: 'a', pk: 'p' })
  world.time.step(year)
  await shown(container)
  assert.equal((await purge(world)).removed, 0)
  world.time.step(-year)
  const { result } = await feed.readNext()
  assert.deepEqual(
    (result as unknown as { current: { id: string } }[]).map(({ current }) => current.id),
    ['a'],
  )
})

test('set back: nothing revives, nothing is removed too early', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, 100)
  const container = containerOf(world)
  await container.items.create({ id: 'a', pk: 'p' })
  world.time.pass(99)
  world.time.step(-year)
  assert.deepEqual(await shown(container), ['a'])
  world.time.pass(1)
  assert.deepEqual(await shown(container), [])
  assert.equal((await purge(world)).remaining, 0)
})

test('a machine that slept for a day removes what died', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, 100)
  const container = containerOf(world)
  await container.items.create({ id: 'a', pk: 'p' })
  world.time.sleep(day)
  assert.deepEqual(await shown(container), [])
  assert.equal((await purge(world)).remaining, 0)
  assert.deepEqual(world.lines, [])
})

test('a restart in doubt keeps everything, until the clock comes back', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, 30 * day)
  await containerOf(world).items.create({ id: 'a', pk: 'p' })
  world.time.step(10 * year)
  assert.deepEqual(await shown(containerOf(world)), [])
  await world.restart()
  assert.deepEqual(await shown(containerOf(world)), [])
  assert.deepEqual(await purge(world), { removed: 0, remaining: 1 })
  world.time.step(-10 * year)
  await world.restart()
  assert.deepEqual(await shown(containerOf(world)), ['a'])
})

test('a start after some days without a server removes after a while, and says so without a warning', async () => {
  await using world = await serverWithTime(begin)
  await newContainer(world, day)
  await containerOf(world).items.create({ id: 'a', pk: 'p' })
  world.time.step(3 * day)
  await world.restart()
  assert.deepEqual(await shown(containerOf(world)), [])
  assert.equal((await purge(world)).remaining, 1)
  assert.deepEqual(
    world.lines.map(({ level }) => level),
    ['info'],
  )
  // Meanwhile nothing stands in the way.
  const { statusCode } = await containerOf(world).items.create({ id: 'a', pk: 'p' })
  assert.equal(statusCode, 201)
  world.time.pass(301)
  await shown(containerOf(world))
  assert.equal((await world.admin('GET', '/_mayfly/clock')).json.doubt, undefined)
})
