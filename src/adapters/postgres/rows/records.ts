/** Rows of the catalog to the records of the port. */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { Body, Encoding } from '../../../document/body.ts'
import { parseIndexPath, printIndexPath, type Uniqueness } from '../../../document/index-definition.ts'
import type { ContainerRecord, DatabaseRecord, IndexDraft, IndexRecord } from '../../../store/catalog.ts'
import type { TtlPolicy } from '../../../store/policy.ts'

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
  encoding: Encoding
  log_seconds: number | null
  log_epoch: number
  indexes_version: number
}

export interface IndexRow {
  number: number
  components: string
  is_declared: boolean
  is_ready: boolean
  has_cut_keys: boolean
  has_gaps: boolean
  has_several_keys: boolean
  uniqueness: Uniqueness
  options: string | null
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
    encoding: row.encoding,
    logSeconds: row.log_seconds,
    definition: JSON.parse(row.definition),
    indexes,
  }
}

export function toIndex(row: IndexRow): IndexRecord {
  const stored = JSON.parse(row.components) as { path: string; isDescending: boolean }[]
  const components = stored.map(({ path, isDescending }) => ({ path: parseIndexPath(path), isDescending }))
  const { number, uniqueness, options } = row
  return {
    definition: { number, components, uniqueness, ...(options !== null && { options: JSON.parse(options) }) },
    isDeclared: row.is_declared,
    isReady: row.is_ready,
    hasCutKeys: row.has_cut_keys,
    hasGaps: row.has_gaps,
    hasSeveralKeys: row.has_several_keys,
  }
}

/** The columns components, is_declared, uniqueness and options. */
export function fromIndexDraft({ components, isDeclared, uniqueness = 'none', options }: IndexDraft): unknown[] {
  const stored = components.map(({ path, isDescending }) => ({ path: printIndexPath(path), isDescending }))
  return [JSON.stringify(stored), isDeclared, uniqueness, options === undefined ? null : JSON.stringify(options)]
}

/** Tells two states of an index apart; how far it is built does not count. */
export function indexText(row: IndexRow): string {
  const { number, components, is_declared, is_ready, has_cut_keys, has_gaps, has_several_keys } = row
  return JSON.stringify([number, components, is_declared, is_ready, has_cut_keys, has_gaps, has_several_keys])
}

/** A body is text, or bytes where the container's items are BSON. */
export interface BodyColumns {
  body: string | null
  bytes: Buffer | null
}

export function bodyOf({ body, bytes }: BodyColumns): Body {
  return body ?? bytes!
}

export function toJson(value: unknown): string | null {
  return value === null ? null : JSON.stringify(value)
}

function fromJson(text: string | null) {
  return text === null ? null : JSON.parse(text)
}

export function policyOf(row: {
  readonly default_ttl: number | null
  readonly inherited_dead_at: number
  readonly own_dead_at: number
}): TtlPolicy {
  return { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at }
}
