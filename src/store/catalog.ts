/** The records of the catalog: databases, containers and indexes, and what may be changed of them. */

import type { EpochSeconds } from '../base/clock.ts'
import type { Encoding } from '../document/body.ts'
import type { IndexDefinition, Uniqueness } from '../document/index-definition.ts'
import type { PartitionKeyDefinition } from '../document/partition-key.ts'
import type { TtlPolicy } from './policy.ts'

export type Throughput =
  | { readonly kind: 'manual'; readonly ruPerSecond: number }
  | { readonly kind: 'autoscale'; readonly maxRuPerSecond: number; readonly incrementPercent?: number }

export interface DatabaseRecord {
  /** Given by the store, never twice. */
  readonly number: number
  readonly id: string
  /** Four random bytes that name this incarnation of the database in every `_rid` below it. */
  readonly rid: number
  readonly version: number
  readonly ts: EpochSeconds
  /** Shared by its containers that have none of their own. */
  readonly throughput: Throughput | null
}

export interface ContainerRecord {
  readonly number: number
  readonly database: DatabaseRecord
  readonly id: string
  /** Four random bytes that name this incarnation of the container. */
  readonly rid: number
  /** Of the definition, not of the items. */
  readonly version: number
  readonly ts: EpochSeconds
  readonly throughput: Throughput | null
  readonly partitionKey: PartitionKeyDefinition
  /** Physical partitions presented to clients; fixed when the container is made. */
  readonly partitionCount: number
  /** How the bodies of its items are encoded. */
  readonly encoding: Encoding
  readonly policy: TtlPolicy
  /** For how many seconds every version, delete and death is remembered; null: not at all. */
  readonly logSeconds: number | null
  /** The definition as the edge that made it understands it. */
  readonly definition: unknown
  readonly indexes: readonly IndexRecord[]
}

/** An index: ordered keys of values at paths, kept in the transaction that writes the item. */
export interface IndexRecord {
  readonly definition: IndexDefinition
  /** Asked for by a policy; otherwise made because queries would have used it. */
  readonly isDeclared: boolean
  /** Every item has its entries. Until then writes keep up their own, and nobody may read it. */
  readonly isReady: boolean
  /**
   * Keys were cut: equal keys may stand for different values, so the index does not know the order of all
   * items.
   */
  readonly hasCutKeys: boolean
  /** Items with more entries than allowed have none, so the index does not know all items. */
  readonly hasGaps: boolean
  /**
   * An item has more than one entry, which a path of its definition does not show. Paths through `anyElement`
   * do.
   */
  readonly hasSeveralKeys: boolean
}

export interface IndexDraft extends Pick<IndexDefinition, 'components' | 'options'> {
  /** `none` unless said. */
  readonly uniqueness?: Uniqueness
  readonly isDeclared: boolean
}

export type DatabaseDraft = Pick<DatabaseRecord, 'id' | 'rid' | 'throughput'>

export type DatabaseChange = Pick<DatabaseRecord, 'throughput'>

export type ContainerDraft = Pick<
  ContainerRecord,
  'id' | 'rid' | 'throughput' | 'partitionKey' | 'partitionCount' | 'encoding' | 'policy' | 'logSeconds' | 'definition'
> & {
  /** Indexes that are there, and ready, from the first item on. */
  readonly declaredIndexes?: readonly IndexDraft[]
}

/** What is not named stays as it is. */
export type ContainerChange = Partial<
  Pick<ContainerRecord, 'id' | 'throughput' | 'policy' | 'logSeconds' | 'definition'>
>
