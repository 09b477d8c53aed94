/** Throughput: offers read and replaced, physical partitions, and the quota that a container reports. */

import assert from 'node:assert/strict'
import test from 'node:test'
import type { Container, OfferDefinition, Resource } from '@azure/cosmos'
import { mayfly } from '../../../src/index.ts'
import { failureOf } from '../../support/service-error.ts'
import { pathOf, startServer, testServer } from '../../support/start-server.ts'

const server = await startServer()

async function offerOf(resource: string): Promise<(OfferDefinition & Resource) | undefined> {
  const { resources } = await server.client.offers.readAll().fetchAll()
  return resources.find(offer => offer.resource === resource)
}

async function selfOf(container: Container): Promise<string> {
  return (await container.read()).resource!._self
}

test('A container without provisioned throughput has an offer of 400 RU/s', async () => {
  const offer = await offerOf(await selfOf(await server.newContainer()))
  assert.equal(offer?.content?.offerThroughput, 400)
  assert.equal(offer?.offerVersion, 'V2')
})

test('The offer of a container names it by its _self and its _rid', async () => {
  const container = await server.newContainer({ throughput: 20_000 })
  const { _self, _rid } = (await container.read()).resource!
  const offer = await offerOf(_self)
  assert.equal(offer?.content?.offerThroughput, 20_000)
  assert.equal(offer?.offerResourceId, _rid)
  assert.deepEqual((await container.readOffer()).resource, offer)
})

test('A manual offer is read and replaced', async () => {
  const container = await server.newContainer({ throughput: 1000 })
  const self = await selfOf(container)
  const offer = (await offerOf(self))!
  const handle = server.client.offer(offer.id!)
  assert.equal((await handle.read()).resource?.content?.offerThroughput, 1000)
  const replaced = await handle.replace({ ...offer, content: { ...offer.content!, offerThroughput: 5000 } })
  assert.equal(replaced.statusCode, 200)
  assert.equal(replaced.resource?.content?.offerThroughput, 5000)
  assert.equal((await handle.read()).resource?.content?.offerThroughput, 5000)
  assert.equal((await offerOf(self))?.content?.offerThroughput, 5000)
})

test('An autoscale offer is read and replaced, and keeps its growth settings', async () => {
  const autoUpgradePolicy = { throughputPolicy: { incrementPercent: 10 } }
  const container = await server.newContainer({ maxThroughput: 4000, autoUpgradePolicy })
  const offer = (await offerOf(await selfOf(container)))!
  assert.deepEqual(offer.content?.offerAutopilotSettings, { maxThroughput: 4000, autoUpgradePolicy })
  assert.equal(offer.content?.offerThroughput, 400)
  const settings = { maxThroughput: 9000, autoUpgradePolicy } as never
  const handle = server.client.offer(offer.id!)
  await handle.replace({ ...offer, content: { ...offer.content!, offerAutopilotSettings: settings } })
  const { resource } = await handle.read()
  assert.deepEqual(resource?.content?.offerAutopilotSettings, { maxThroughput: 9000, autoUpgradePolicy })
})

test('An offer refuses invalid rates and stays as it was', async () => {
  const container = await server.newContainer({ throughput: 1000 })
  const self = await selfOf(container)
  const offer = (await offerOf(self))!
  for (const offerThroughput of [0, 399, 450, -400, 1.5, 2_000_000, '800', null, Number.NaN]) {
    const content = { ...offer.content, offerThroughput } as never
    assert.equal(await failureOf(server.client.offer(offer.id!).replace({ ...offer, content })), 400)
  }
  assert.equal((await offerOf(self))?.content?.offerThroughput, 1000)
})

test('The throughput of a database is shared by the containers without their own', async () => {
  const { database, resource } = await server.client.databases.create({ id: 'shared', throughput: 700 })
  const { container: sharing } = await database.containers.create({ id: 'sharing', partitionKey: '/pk' })
  const own = { id: 'own', partitionKey: '/pk', throughput: 800 }
  const { container: owning } = await database.containers.create(own)
  const offer = (await offerOf(resource!._self))!
  assert.equal(offer.content?.offerThroughput, 700)
  assert.equal(offer.offerResourceId, resource!._rid)
  assert.equal(await offerOf(await selfOf(sharing)), undefined)
  assert.equal((await offerOf(await selfOf(owning)))?.content?.offerThroughput, 800)
  await server.client.offer(offer.id!).replace({ ...offer, content: { ...offer.content!, offerThroughput: 900 } })
  assert.equal((await database.readOffer()).resource?.content?.offerThroughput, 900)
  assert.equal((await sharing.readOffer()).resource, undefined)
})

test('An unknown offer is 404, and a deleted container takes its offer with it', async () => {
  assert.equal(await failureOf(server.client.offer('AAAA').read()), 404)
  const container = await server.newContainer()
  const self = await selfOf(container)
  const { id } = (await offerOf(self))!
  await container.delete()
  assert.equal(await offerOf(self), undefined)
  assert.equal(await failureOf(server.client.offer(id!).read()), 404)
})

async function rangesOf(container: Container) {
  const { resources } = await container.readPartitionKeyRanges().fetchAll()
  return resources
}

function assertWholeSpace(ranges: readonly { id: string; minInclusive: string; maxExclusive: string }[]): void {
  assert.equal(ranges[0]?.minInclusive, '')
  assert.equal(ranges.at(-1)?.maxExclusive, 'FF')
  for (const [at, { id, minInclusive, maxExclusive }] of ranges.entries()) {
    assert.equal(id, String(at))
    assert.ok(minInclusive < maxExclusive)
    if (at > 0) assert.equal(minInclusive, ranges[at - 1]?.maxExclusive)
  }
}

for (const [kind, rate, count] of [
  ['manual', 400, 1],
  ['manual', 6000, 1],
  ['manual', 6100, 2],
  ['manual', 10_000, 2],
  ['manual', 25_100, 5],
  ['autoscale', 10_000, 1],
  ['autoscale', 11_000, 2],
  ['shared', 10_000, 1],
  ['shared', 10_100, 2],
  ['shared autoscale', 30_000, 3],
] as const) {
  test(`${rate} RU/s (${kind}) are ${count} partition key ranges without gaps`, async () => {
    const throughput = kind.includes('autoscale') ? { maxThroughput: rate } : { throughput: rate }
    const isShared = kind.startsWith('shared')
    const database = { id: `${kind} ${rate}`, ...(isShared && throughput) }
    const made = await server.client.databases.create(database)
    const definition = { id: 'items', partitionKey: '/pk', ...(!isShared && throughput) }
    const { container } = await made.database.containers.create(definition)
    const ranges = await rangesOf(container)
    assert.equal(ranges.length, count)
    assertWholeSpace(ranges as never)
  })
}

for (const version of [1, 2] as const) {
  test(`A server told to present five partitions presents five, for keys of version ${version}`, async () => {
    await using db = await mayfly({ clock: 'manual', partitions: 5 })
    const five = testServer(db)
    const container = await five.newContainer({ partitionKey: { paths: ['/pk'], version } as never })
    const ranges = await rangesOf(container)
    assert.equal(ranges.length, 5)
    assertWholeSpace(ranges as never)
    const perRange: number[] = []
    const items = Array.from({ length: 40 }, (_, at) => ({ id: String(at), pk: `key ${at}` }))
    for (const item of items) await container.items.create(item)
    for (const { id } of ranges) {
      const path = pathOf(container, 'docs')
      const headers = { 'x-ms-documentdb-partitionkeyrangeid': id, 'x-ms-max-item-count': '1000' }
      perRange.push((await five.send({ path, headers })).json._count)
    }
    assert.equal(
      perRange.reduce((sum, count) => sum + count),
      40,
    )
    assert.ok(
      perRange.every(count => count > 0),
      `every range holds something: ${perRange}`,
    )
  })
}

test('A client that has the current ranges of a container gets 304', async () => {
  const container = await server.newContainer()
  const path = pathOf(container, 'pkranges')
  const { headers } = await server.send({ path })
  const again = await server.send({ path, headers: { 'if-none-match': headers.etag } })
  assert.equal(again.status, 304)
  assert.equal(again.text, '')
})

test('A container reports its quota and the number of its living items when asked', async () => {
  const container = await server.newContainer({ defaultTtl: 10 })
  for (const id of ['1', '2', '3']) await container.items.create({ id, pk: 'a' })
  await container.items.create({ id: '4', pk: 'a', ttl: -1 })
  const plain = await container.read()
  assert.equal(plain.headers['x-ms-resource-usage'], undefined)
  const { headers } = await container.read({ populateQuotaInfo: true })
  assert.match(String(headers['x-ms-resource-quota']), /(^|;)collectionSize=10485760;/)
  assert.match(String(headers['x-ms-resource-usage']), /(^|;)documentsCount=4;/)
  assert.equal(headers['x-ms-documentdb-collection-index-transformation-progress'], '100')
  assert.equal(headers['x-ms-documentdb-collection-lazy-indexing-progress'], undefined)
  await server.db.clock.advance('10s')
  const later = await container.read({ populateQuotaInfo: true })
  assert.match(String(later.headers['x-ms-resource-usage']), /(^|;)documentsCount=1;/)
})
