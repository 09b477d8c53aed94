/**
 * The mixed load: eight actors, each with its own connection and its own items, one request at a time.
 *
 * The first actor is also the governor: it alone moves the clock, changes defaults and forces purges. The
 * second also creates and deletes containers, and the next three write groups of items, two of them over
 * Mongo. They run until the server is gone or the load is over.
 */

import { Client, ConnectionLost, type Reply } from './client.ts'
import { versionOf } from './item-model.ts'
import {
  actorCount,
  drawGovernorOperation,
  drawItemOperation,
  type GovernorOperation,
  governed,
  type ItemOperation,
  partitionKeyOf,
} from './operations.ts'
import { Random } from './random.ts'
import { changeTtlIndex } from './ttl-index.ts'
import { check } from './violation.ts'
import { WireClient, wireDatabase } from './wire-client.ts'
import { databaseOf, definitionText, type World } from './world.ts'

export interface LoadOptions {
  readonly endpoint: string
  readonly mongoUri: string
  readonly seed: number
  readonly cycle: number
  /** Whether the server was told to stop; until then losing it is a failure. */
  readonly isEnding: () => boolean
  /** Whether the actors finish their current request and send nothing more. */
  readonly isOver: () => boolean
}

/**
 * Resolves when all actors have ended. If some of their checks failed, throws the first failure.
 */
export async function runLoad(world: World, options: LoadOptions): Promise<void> {
  const actors = Array.from({ length: actorCount }, (_, actor) => runActor(world, actor, options))
  const failures = (await Promise.allSettled(actors)).filter(result => result.status === 'rejected')
  if (failures.length > 0) throw failures[0]!.reason
}

async function runActor(world: World, actor: number, options: LoadOptions): Promise<void> {
  const { endpoint, mongoUri, seed, cycle, isEnding, isOver } = options
  const random = new Random(seed, cycle, actor)
  using client = new Client(endpoint)
  let wire: WireClient | undefined
  try {
    if ([0, 3, 4].includes(actor)) wire = await WireClient.open(mongoUri)
    for (let step = 0; !isOver(); step++) {
      const serial = `${cycle}.${actor}.${step}`
      if (actor === 0 && random.chance(0.5)) await govern({ client, wire: wire! }, world, drawGovernorOperation(random))
      else if (actor === 1 && random.chance(0.3)) await world.builder.step(client, random)
      else if ([2, 3, 4].includes(actor) && random.chance(0.4)) {
        if (actor === 2) await world.groups.batch(client, random, serial)
        else if (actor === 3) await world.groups.transaction(wire!, random, serial)
        else await world.groups.writes(wire!, random, serial)
        world.counts.groupWrites++
      } else await operate(client, world, drawItemOperation(random, actor, serial))
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost && isEnding())) throw error
  } finally {
    wire?.[Symbol.dispose]()
  }
}

async function operate(client: Client, { models, counts }: World, operation: ItemOperation): Promise<void> {
  const { container, attempt, isConditional } = operation
  const model = models.get(container)!
  const etag = isConditional ? model.known(attempt.id)?.etag : undefined
  model.begin(attempt)
  const reply = await sendItem(client, operation, etag)
  model.finish(attempt.id, reply)
  if (attempt.kind === 'read') counts.reads++
  else counts.writes++
}

function sendItem(client: Client, { container, attempt }: ItemOperation, etag: string | undefined): Promise<Reply> {
  const { kind, id, text: body } = attempt
  const feed = `/dbs/crash/colls/${container}/docs`
  const headers: Record<string, string> = itemHeaders(id)
  if (etag !== undefined && kind !== 'create' && kind !== 'read') headers['if-match'] = etag
  switch (kind) {
    case 'create':
      return client.send('POST', feed, { headers, body })
    case 'upsert':
      return client.send('POST', feed, { headers: { ...headers, 'x-ms-documentdb-is-upsert': 'true' }, body })
    case 'replace':
      return client.send('PUT', `${feed}/${id}`, { headers, body })
    case 'delete':
      return client.send('DELETE', `${feed}/${id}`, { headers })
    case 'read':
      return client.send('GET', `${feed}/${id}`, { headers })
  }
}

export function itemHeaders(id: string): Record<string, string> {
  return { 'x-ms-documentdb-partitionkey': JSON.stringify([partitionKeyOf(id)]) }
}

/** One action of the governor; nothing else may move the clock or change a default meanwhile. */
export async function govern(
  { client, wire }: { client: Client; wire: WireClient },
  { timeline, definitions, counts, purges }: World,
  operation: GovernorOperation,
): Promise<void> {
  switch (operation.kind) {
    case 'advance': {
      const to = timeline.now + operation.seconds
      timeline.begin({ kind: 'clock', to })
      const { now } = await client.json('POST', '/_mayfly/clock', { body: `{"advance":"${operation.seconds}s"}` })
      check(now === to, `the clock was advanced to ${to} and stands at ${now}`)
      timeline.acknowledge()
      counts.advances++
      return
    }
    case 'default': {
      const { container, defaultTtl } = operation
      timeline.begin({ kind: 'default', container, to: defaultTtl })
      if (databaseOf(container) === wireDatabase) {
        await changeTtlIndex(wire, container, timeline.defaultOf(container), defaultTtl)
        timeline.acknowledge()
        counts.defaultChanges++
        return
      }
      const body = definitionText(container, defaultTtl)
      const changed = await client.json('PUT', `/dbs/crash/colls/${container}`, { body })
      check((changed.defaultTtl ?? null) === defaultTtl, `default ${defaultTtl} became ${changed.defaultTtl}`)
      check(changed._ts === timeline.now, `changed at ${changed._ts}, when the clock stood at ${timeline.now}`)
      definitions.get(container)!.give(versionOf(changed._etag as string))
      timeline.acknowledge()
      counts.defaultChanges++
      return
    }
    case 'purge': {
      const { container } = operation
      const body = JSON.stringify({ db: databaseOf(container), container })
      const { removed, remaining } = await client.json('POST', '/_mayfly/purge', { body })
      // Nobody else moves the clock or changes a default, so nothing can die meanwhile.
      check(remaining === 0, `${remaining} dead items remained after a purge`)
      purges.byCall += removed as number
      counts.purgedByCall += removed as number
      return
    }
    case 'status': {
      const paths = governed.map(each => `/_mayfly/ttl/${databaseOf(each)}/${each}`)
      const states = await Promise.all(paths.map(path => client.json('GET', path)))
      const inBackground = states.reduce((sum, { purged }) => sum + (purged as number), 0) - purges.byCall
      counts.purgedInBackground += inBackground - purges.inBackground
      purges.inBackground = inBackground
    }
  }
}
