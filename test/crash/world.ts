/** Everything the controller knows about one data directory, and how it is set up. */

import { Builder } from './builder.ts'
import type { Client } from './client.ts'
import { batchContainer, collections, Groups } from './groups.ts'
import { ItemModel } from './item-model.ts'
import { allIds, containers } from './operations.ts'
import { Timeline } from './timeline.ts'
import { Versions } from './versions.ts'
import { check } from './violation.ts'
import { type WireClient, wireDatabase } from './wire-client.ts'

/** Ahead of every machine's clock, so that only the controller decides the time. */
const startOfTime = 2_100_000_000

export interface Counts {
  /** Number of answered requests, by kind. */
  reads: number
  writes: number
  /** Batches, transactions and retryable writes of several items. */
  groupWrites: number
  advances: number
  defaultChanges: number
  purgedByCall: number
  purgedInBackground: number
  /** Writes under way at a kill, and how many of them had happened. */
  underWay: number
  survivors: number
  groupsUnderWay: number
  groupSurvivors: number
  /** Sent again after a restart, as drivers do. */
  repeated: number
  /** Items found alive and items found gone after restarts. */
  alive: number
  gone: number
  startUpKills: number
  fileChecks: number
  /** Kills that left a mark of the end, and those that left a WAL long enough for a checkpoint. */
  marks: number
  longLogs: number
  readyMsMax: number
}

export interface World {
  readonly timeline: Timeline
  readonly models: ReadonlyMap<string, ItemModel>
  /** Of the containers' definitions. */
  readonly definitions: ReadonlyMap<string, Versions>
  readonly builder: Builder
  readonly groups: Groups
  readonly counts: Counts
  /** Items removed since the server's last start. */
  readonly purges: { byCall: number; inBackground: number }
}

export function newWorld(): World {
  const timeline = new Timeline(startOfTime)
  return {
    timeline,
    models: new Map(containers.map(name => [name, new ItemModel(timeline, name, allIds())])),
    definitions: new Map([...containers, batchContainer].map(name => [name, new Versions()])),
    builder: new Builder(),
    groups: new Groups(timeline),
    purges: { byCall: 0, inBackground: 0 },
    counts: {
      reads: 0,
      writes: 0,
      groupWrites: 0,
      advances: 0,
      defaultChanges: 0,
      purgedByCall: 0,
      purgedInBackground: 0,
      underWay: 0,
      survivors: 0,
      groupsUnderWay: 0,
      groupSurvivors: 0,
      repeated: 0,
      alive: 0,
      gone: 0,
      startUpKills: 0,
      fileChecks: 0,
      marks: 0,
      longLogs: 0,
      readyMsMax: 0,
    },
  }
}

export async function furnish(client: Client, wire: WireClient, { timeline }: World): Promise<void> {
  const { now } = await client.json('POST', '/_mayfly/clock', { body: JSON.stringify({ set: startOfTime }) })
  check(now === startOfTime, `the clock was set to ${startOfTime} and stands at ${now}`)
  await client.json('POST', '/dbs', { body: JSON.stringify({ id: 'crash' }) })
  for (const container of [...containers, batchContainer]) {
    await client.json('POST', '/dbs/crash/colls', { body: definitionText(container, null) })
    timeline.addContainer(container, null)
  }
  for (const collection of collections) {
    await wire.run({ createIndexes: collection, indexes: [{ key: { serial: 1 }, name: 'serial_1' }] })
    timeline.addContainer(collection, null)
  }
}

export function databaseOf(container: string): string {
  return collections.some(name => name === container) ? wireDatabase : 'crash'
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
