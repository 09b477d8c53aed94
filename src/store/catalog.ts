/** The records of the catalog: databases, containers and indexes, and which of their fields may change. */

import type { EpochSeconds } from '../base/clock.ts'
import type { Encoding } from '../document/body.ts'
import type { IndexDefinition, Uniqueness } from '../document/index-definition.ts'
import type { PartitionKeyDefinition } from '../document/partition-key.ts'
import type { TtlPolicy } from './policy.ts'

export type Throughput =
  | { readonly kind: 'manual'; readonly ruPerSecond: number }
  | { readonly kind: 'autoscale'; readonly maxRuPerSecond: number; readonly incrementPercent?: number }

export interface DatabaseRecord {
  /** Given by the store, and never given again. */
  readonly number: number
  readonly id: string
  /** Four random bytes that name this incarnation of the database in every `_rid` below it. */
  readonly rid: number
  readonly version: number
  readonly ts: EpochSeconds
  /** Shared by the containers that have none of their own. */
  readonly throughput: Throughput | null
}

export interface ContainerRecord {
  readonly number: number
  readonly database: DatabaseRecord
  readonly id: string
  /** Four random bytes that name this incarnation of the container. */
  readonly rid: number
  /** Version of the definition, not of the items. */
  readonly version: number
  readonly ts: EpochSeconds
  readonly throughput: Throughput | null
  readonly partitionKey: PartitionKeyDefinition
  /** Physical partitions that clients saw when the container was created. */
  readonly partitionCount: number
  /** How many splits of partitions there were since (`document/partition-layout.ts`). */
  readonly partitionSplits: number
  /** How the bodies of its items are encoded. */
  readonly encoding: Encoding
  readonly policy: TtlPolicy
  /** For how many seconds the log keeps every version, delete and death; null: there is no log. */
  readonly logSeconds: number | null
  /** The definition in the format of the edge that made it. */
  readonly definition: unknown
  readonly indexes: readonly IndexRecord[]
}

/** An index: sort keys of the values at some paths, updated in the transaction that writes the item. */
export interface IndexRecord {
  readonly definition: IndexDefinition
  /** A policy asked for it. Otherwise Mayfly made it, because queries would have used it. */
  readonly isDeclared: boolean
  /** Every item has its entries. Before that, writes update the index, but nobody may read it. */
  readonly isReady: boolean
  /**
   * Keys were cut. Equal keys may stand for different values, so the index does not know the order of all
   * items.
   */
  readonly hasCutKeys: boolean
  /** An item would have had too many entries and has none, so the index does not know all items. */
  readonly hasGaps: boolean
  /** An item has several entries although no path of the definition goes through `anyElement`. */
  readonly hasSeveralKeys: boolean
}

export interface IndexDraft extends Pick<IndexDefinition, 'components' | 'options'> {
  /** Default: `none`. */
  readonly uniqueness?: Uniqueness
  readonly isDeclared: boolean
}

export type DatabaseDraft = Pick<DatabaseRecord, 'id' | 'rid' | 'throughput'>

export type DatabaseChange = Pick<DatabaseRecord, 'throughput'> & { readonly note?: Epitaph | undefined }

/**
 * What a change of the catalog leaves in the journal, for the edge that made it. It is stored by the same
 * transaction. A container that keeps no log leaves no notes.
 */
export interface CatalogNote {
  readonly body: Uint8Array
  /** The container has another name from now on, or none. */
  readonly endsName?: boolean
}

/** A note with the time for which it is kept, together with what a deleted container left in the journal. */
export interface Epitaph extends CatalogNote {
  readonly keptSeconds: number
}

export type ContainerDraft = Pick<
  ContainerRecord,
  'id' | 'rid' | 'throughput' | 'partitionKey' | 'partitionCount' | 'encoding' | 'policy' | 'logSeconds' | 'definition'
> & {
  /** Indexes that exist, and are ready, before the first item is written. */
  readonly declaredIndexes?: readonly IndexDraft[]
  readonly note?: CatalogNote | undefined
}

/** Fields that are not given stay as they are. */
export type ContainerChange = Partial<
  Pick<ContainerRecord, 'id' | 'throughput' | 'partitionSplits' | 'policy' | 'logSeconds' | 'definition'>
> & { readonly notes?: readonly CatalogNote[] | undefined }
