/** Everything the controller knows about one data directory, and how it is set up. */

import { Builder } from './builder.ts'
import type { Client } from './client.ts'
import { ItemModel } from './item-model.ts'
import { allIds, containers } from './operations.ts'
import { Timeline } from './timeline.ts'
import { Versions } from './versions.ts'
import { check } from './violation.ts'

/** Ahead of every machine's clock, so that only the controller decides the time. */
const startOfTime = 2_100_000_000

export interface Counts {
  /** Number of answered requests, by kind. */
  reads: number
  writes: number
  advances: number
  defaultChanges: number
  purgedByCall: number
  purgedInBackground: number
  /** Writes under way at a kill, and how many of them had happened. */
  underWay: number
  survivors: number
  /** Items found alive and items found gone after restarts. */
  alive: number
  gone: number
  startUpKills: number
  fileChecks: number
  readyMsMax: number
}

export interface World {
  readonly timeline: Timeline
  readonly models: ReadonlyMap<string, ItemModel>
  /** Of the containers' definitions. */
  readonly definitions: ReadonlyMap<string, Versions>
  readonly builder: Builder
  readonly counts: Counts
  /** Items removed since the server's last start. */
  readonly purges: { byCall: number; inBackground: number }
}

export function newWorld(): World {
  const timeline = new Timeline(startOfTime)
  return {
    timeline,
    models: new Map(containers.map(name => [name, new ItemModel(timeline, name, allIds())])),
    definitions: new Map(containers.map(name => [name, new Versions()])),
    builder: new Builder(),
    purges: { byCall: 0, inBackground: 0 },
    counts: {
      reads: 0,
      writes: 0,
      advances: 0,
      defaultChanges: 0,
      purgedByCall: 0,
      purgedInBackground: 0,
      underWay: 0,
      survivors: 0,
      alive: 0,
      gone: 0,
      startUpKills: 0,
      fileChecks: 0,
      readyMsMax: 0,
    },
  }
}

export async function furnish(client: Client, { timeline }: World): Promise<void> {
  const { now } = await client.json('POST', '/_mayfly/clock', { body: JSON.stringify({ set: startOfTime }) })
  check(now === startOfTime, `the clock was set to ${startOfTime} and stands at ${now}`)
  await client.json('POST', '/dbs', { body: JSON.stringify({ id: 'crash' }) })
  for (const container of containers) {
    await client.json('POST', '/dbs/crash/colls', { body: definitionText(container, null) })
    timeline.addContainer(container, null)
  }
}

/**
 * The declared index changes with every write of an item, and must stay in step with it through every crash.
 */
export function definitionText(container: string, defaultTtl: number | null): string {
  const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 }
  const compositeIndexes = [
    [
      { path: '/pk', order: 'ascending' },
      { path: '/serial', order: 'descending' },
    ],
  ]
  const ttl = defaultTtl === null ? {} : { defaultTtl }
  return JSON.stringify({ id: container, partitionKey, indexingPolicy: { compositeIndexes }, ...ttl })
}
