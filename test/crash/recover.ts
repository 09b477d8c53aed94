/** What must hold after a restart, checked against everything that was acknowledged before it. */

import type { Client } from './client.ts'
import { collections } from './groups.ts'
import { type ItemModel, versionOf } from './item-model.ts'
import { itemHeaders } from './load.ts'
import type { Random } from './random.ts'
import { readTtlIndex } from './ttl-index.ts'
import { check } from './violation.ts'
import type { WireClient } from './wire-client.ts'
import { databaseOf, type World } from './world.ts'

/** Number of connections that read at the same time. */
const width = 8

export async function checkRecovered(
  clients: readonly Client[],
  wire: WireClient,
  world: World,
  random: Random,
): Promise<void> {
  const { timeline, models, definitions, builder, groups, counts } = world
  const client = clients[0]!
  world.purges.byCall = 0
  world.purges.inBackground = 0

  const { now } = await client.json('GET', '/_mayfly/clock')
  timeline.settleClock(now as number)
  for (const [container, versions] of definitions) {
    const { defaultTtl, _etag } = await client.json('GET', `/dbs/crash/colls/${container}`)
    timeline.settleDefault(container, (defaultTtl as number | undefined) ?? null)
    const version = versionOf(_etag as string)
    check(version >= versions.newest, `the definition of ${container} fell back to version ${version}`)
    if (version > versions.newest) versions.give(version)
    versions.raiseFloor()
  }
  for (const collection of collections) {
    const { defaultTtl } = await client.json('GET', `/_mayfly/ttl/${databaseOf(collection)}/${collection}`)
    timeline.settleDefault(collection, await readTtlIndex(wire, collection, defaultTtl as number | null))
  }
  timeline.abandon()

  for (const model of models.values()) {
    const living = await settleItems(clients, model, counts)
    await checkOtherPaths(client, model.container, living)
    model.versions.raiseFloor()
  }
  const { open, happened, repeated } = await groups.settle(client, wire, random)
  counts.groupsUnderWay += open
  counts.groupSurvivors += happened
  counts.repeated += repeated
  timeline.forgetEnded()
  await builder.settle(client)
  if (!random.chance(0.3)) return
  await purgeAndLookAgain(client, world)
  await groups.look(client, wire)
}

/** Reads every item that ever existed by id; returns the ids of the living ones. */
async function settleItems(clients: readonly Client[], model: ItemModel, counts: World['counts']): Promise<string[]> {
  const { ids } = model
  const living: string[] = []
  const lane = async (client: Client, first: number) => {
    for (let at = first; at < ids.length; at += width) {
      const id = ids[at]!
      const headers = itemHeaders(id)
      const reply = await client.send('GET', `/dbs/crash/colls/${model.container}/docs/${id}`, { headers })
      check(
        reply.lsn === undefined || reply.lsn >= model.versions.newest,
        `${model.container} is at version ${reply.lsn}, before the acknowledged ${model.versions.newest}`,
      )
      const { isAlive, wasUnderWay, hasHappened } = model.settle(id, reply)
      if (isAlive) living.push(id)
      counts[isAlive ? 'alive' : 'gone']++
      counts.underWay += Number(wasUnderWay)
      counts.survivors += Number(hasHappened)
    }
  }
  await Promise.all(clients.map(lane))
  return living.sort()
}

/** The feed, a count, an index and the status must agree with the point reads. */
async function checkOtherPaths(client: Client, container: string, living: readonly string[]): Promise<void> {
  const path = `/dbs/crash/colls/${container}/docs`
  const expected = living.join()
  const feed = await client.json('GET', path, { headers: { 'x-ms-max-item-count': '1000' } })
  const listed = (feed.Documents as { id: string }[]).map(({ id }) => id).sort()
  check(listed.join() === expected, `the feed of ${container} lists ${listed.join()}; point reads found ${expected}`)

  const [count] = await query(client, path, 'SELECT VALUE COUNT(1) FROM c')
  check(count === living.length, `COUNT says ${count} in ${container}; ${living.length} are alive`)

  const ordered = await query(client, path, 'SELECT VALUE c.id FROM c ORDER BY c.pk, c.serial DESC')
  const selected = ordered.sort().join()
  check(selected === expected, `the index of ${container} finds ${selected}; point reads found ${expected}`)

  const status = await client.json('GET', `/_mayfly/ttl/crash/${container}`)
  check(
    status.living === living.length,
    `the status of ${container} says ${status.living} living and ${status.backlog} dead; ${living.length} are alive`,
  )
}

/** Asks the one physical partition, as SDKs do for queries that need a plan. */
async function query(client: Client, path: string, text: string): Promise<unknown[]> {
  const headers = {
    'x-ms-documentdb-isquery': 'true',
    'x-ms-documentdb-partitionkeyrangeid': '0',
    'x-ms-max-item-count': '1000',
    'content-type': 'application/query+json',
  }
  const { Documents } = await client.json('POST', path, { headers, body: JSON.stringify({ query: text }) })
  return Documents as unknown[]
}

/** A purge changes nothing that a client can see. */
async function purgeAndLookAgain(client: Client, { models, purges, counts }: World): Promise<void> {
  const { removed, remaining } = await client.json('POST', '/_mayfly/purge', { body: '{}' })
  check(remaining === 0, `${remaining} dead items remained after a purge`)
  purges.byCall += removed as number
  counts.purgedByCall += removed as number
  for (const model of models.values()) {
    const living = model.ids.filter(id => model.known(id) !== undefined).sort()
    await checkOtherPaths(client, model.container, living)
  }
}
