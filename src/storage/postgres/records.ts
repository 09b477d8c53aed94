/** Rows of the catalog to the records of the port. */

import type { EpochSeconds } from '../../base/clock.ts'
import { parseIndexPath } from '../../document/index-definition.ts'
import type { ContainerRecord, DatabaseRecord, IndexRecord } from '../port.ts'

export interface DatabaseRow {
  number: number
  id: string
  rid: number
  version: number
  ts: EpochSeconds
  throughput: string | null
}

export interface ContainerRow extends DatabaseRow {
  partition_key: string
  partition_count: number
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  definition: string
}

export interface IndexRow {
  number: number
  components: string
  is_declared: boolean
  is_ready: boolean
  has_cut_keys: boolean
  has_gaps: boolean
}

export function toDatabase({ number, id, rid, version, ts, throughput }: DatabaseRow): DatabaseRecord {
  return { number, id, rid, version, ts, throughput: fromJson(throughput) }
}

export function toContainer(
  row: ContainerRow,
  database: DatabaseRecord,
  indexes: readonly IndexRecord[],
): ContainerRecord {
  const { number, id, rid, version, ts } = row
  return {
    number,
    database,
    id,
    rid,
    version,
    ts,
    throughput: fromJson(row.throughput),
    partitionKey: JSON.parse(row.partition_key),
    partitionCount: row.partition_count,
    policy: { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at },
    encoding: 'json',
    logSeconds: null,
    definition: JSON.parse(row.definition),
    indexes,
  }
}

export function toIndex(row: IndexRow): IndexRecord {
  const stored = JSON.parse(row.components) as { path: string; isDescending: boolean }[]
  const components = stored.map(({ path, isDescending }) => ({ path: parseIndexPath(path), isDescending }))
  return {
    definition: { number: row.number, components, uniqueness: 'none' },
    isDeclared: row.is_declared,
    isReady: row.is_ready,
    hasCutKeys: row.has_cut_keys,
    hasGaps: row.has_gaps,
  }
}

/** Tells two states of an index apart; how far it is built does not count. */
export function indexText({ number, components, is_declared, is_ready, has_cut_keys, has_gaps }: IndexRow): string {
  return JSON.stringify([number, components, is_declared, is_ready, has_cut_keys, has_gaps])
}

export function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function fromJson(text: string | null) {
  return text === null ? null : JSON.parse(text)
}
