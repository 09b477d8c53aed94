/** Converts rows of the catalog tables to records and back; the columns are the same in both stores. */

import type { EpochSeconds } from '../base/clock.ts'
import type { Encoding } from '../document/body.ts'
import { parseIndexPath, printIndexPath, type Uniqueness } from '../document/index-definition.ts'
import type { ContainerRecord, DatabaseRecord, IndexDraft, IndexRecord } from '../store/catalog.ts'
import type { TtlPolicy } from '../store/policy.ts'

export interface DatabaseRow {
  number: number
  id: string
  rid: number
  version: number
  ts: EpochSeconds
  throughput: string | null
}

export interface PolicyColumns {
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
}

export interface ContainerRow extends DatabaseRow, PolicyColumns {
  database: number
  partition_key: string
  partition_count: number
  partition_splits: number
  definition: string
  encoding: Encoding
  log_seconds: number | null
}

/** PostgreSQL has booleans, SQLite has 0 and 1. */
type Flag = boolean | number

export interface IndexRow {
  number: number
  components: string
  is_declared: Flag
  is_ready: Flag
  has_cut_keys: Flag
  has_gaps: Flag
  has_several_keys: Flag
  uniqueness: Uniqueness
  options: string | null
}

export function toDatabase({ number, id, rid, version, ts, throughput }: DatabaseRow): DatabaseRecord {
  return { number, id, rid, version, ts, throughput: fromJson(throughput) }
}

/** The order of the fields counts: `fingerprintOf` in `store/transfer.ts` hashes the record as JSON. */
export function toContainer(
  row: ContainerRow,
  database: DatabaseRecord,
  indexes: readonly IndexRecord[],
): ContainerRecord {
  const { number, id, rid, version, ts, encoding } = row
  return {
    number,
    database,
    id,
    rid,
    version,
    ts,
    encoding,
    logSeconds: row.log_seconds,
    throughput: fromJson(row.throughput),
    partitionKey: JSON.parse(row.partition_key),
    partitionCount: row.partition_count,
    partitionSplits: row.partition_splits,
    policy: toPolicy(row),
    definition: JSON.parse(row.definition),
    indexes,
  }
}

export function toPolicy(row: PolicyColumns): TtlPolicy {
  return { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at }
}

export function toIndex(row: IndexRow): IndexRecord {
  const stored = JSON.parse(row.components) as { path: string; isDescending: boolean }[]
  const components = stored.map(({ path, isDescending }) => ({ path: parseIndexPath(path), isDescending }))
  const { number, uniqueness, options } = row
  return {
    definition: { number, components, uniqueness, ...(options !== null && { options: JSON.parse(options) }) },
    isDeclared: Boolean(row.is_declared),
    isReady: Boolean(row.is_ready),
    hasCutKeys: Boolean(row.has_cut_keys),
    hasGaps: Boolean(row.has_gaps),
    hasSeveralKeys: Boolean(row.has_several_keys),
  }
}

/** The columns `components` and `options`. */
export function fromIndex({ components, options }: Pick<IndexDraft, 'components' | 'options'>): {
  readonly components: string
  readonly options: string | null
} {
  const stored = components.map(({ path, isDescending }) => ({ path: printIndexPath(path), isDescending }))
  return { components: JSON.stringify(stored), options: options === undefined ? null : JSON.stringify(options) }
}

export function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function fromJson(text: string | null) {
  return text === null ? null : JSON.parse(text)
}
