/** What can be written to a container: single changes, the steps of transactions, and what came of them. */

import type { EpochSeconds } from '../base/clock.ts'
import type { RequestError } from '../base/error.ts'
import type { ContainerRecord } from './catalog.ts'
import type { Draft, ItemKey, StoredItem } from './item.ts'
import type { Answer } from './reading.ts'

/** What to do at a key, and what must be found there. */
export type ItemChange = {
  /**
   * The version to find, when a living item is there; a version that no item has never matches. An upsert
   * that finds none creates, as the service does (azure-cosmos-dotnet-v3#1698).
   */
  readonly ifVersion?: number | undefined
} & (
  | {
      readonly kind: 'create' | 'replace' | 'upsert'
      readonly draft: Draft
      /** The item's own time to live in seconds, -1 for never, undefined to inherit. */
      readonly ttl: number | undefined
      /**
       * The item is dead from this second on, whatever its time to live says; for lives that end on a date.
       */
      readonly until?: EpochSeconds | undefined
    }
  | { readonly kind: 'delete' }
)

export type ItemWrite = ItemChange & { readonly key: ItemKey }

/** One step of a transaction: decides what to do at its key from what it finds there. */
export interface Step {
  readonly container: ContainerRecord
  readonly key: ItemKey
  /**
   * undefined: only look. Refuses by throwing a RequestError, which undoes the whole transaction. A store
   * that must try again calls it again, so it may have no effects but its answer.
   */
  decide(found: StoredItem | undefined, moment: EpochSeconds): ItemChange | undefined
  /** It decides the same whatever is there: the store need not look. */
  readonly isBlind?: boolean
}

/** What came of a step; `found`: it only looked, and there was a living item. */
export interface StepAnswer {
  readonly outcome: WriteAnswer['outcome'] | 'found'
  /** As stored, or as found. */
  readonly item?: StoredItem
}

export interface TransactAnswer {
  readonly moment: EpochSeconds
  /** The newest version in the container of the last step. */
  readonly version: number
  /** Of every step up to the one that stopped the transaction, if one did. */
  readonly steps: readonly StepAnswer[]
  /**
   * The transaction did not happen, because of its last answered step: refused by `decide`, or by its
   * outcome.
   */
  readonly refusal?: { readonly error: RequestError | undefined }
}

export interface WriteAnswer extends Answer {
  /** `conflict`: a living item has the same key of a unique index. */
  readonly outcome: 'created' | 'replaced' | 'deleted' | 'exists' | 'missing' | 'changed' | 'conflict'
  /** The item as stored, when it was created or replaced. */
  readonly item?: StoredItem
}
