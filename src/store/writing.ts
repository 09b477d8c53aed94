/** What can be written to a container: single changes, steps of transactions, and their answers. */

import type { EpochSeconds } from '../base/clock.ts'
import type { RequestError } from '../base/error.ts'
import type { ContainerRecord } from './catalog.ts'
import type { Draft, ItemKey, StoredItem } from './item.ts'
import type { Answer } from './reading.ts'

/** What to do at a key, and under which condition. `adapters/verdict.ts` says what comes of it. */
export type ItemChange = {
  /**
   * The version that the living item at the key must have; a version that no item has never matches. An
   * upsert that finds no item creates one, as the service does (azure-cosmos-dotnet-v3#1698).
   */
  readonly ifVersion?: number | undefined
} & (
  | {
      readonly kind: 'create' | 'replace' | 'upsert'
      readonly draft: Draft
      /** The item's own time to live in seconds, -1 for never, undefined to inherit. */
      readonly ttl: number | undefined
      /** The item is dead from this second on, whatever its time to live says. */
      readonly until?: EpochSeconds | undefined
    }
  | { readonly kind: 'delete' }
)

export type ItemWrite = ItemChange & { readonly key: ItemKey }

/** One step of a transaction: it decides what to do at its key from the item that is there. */
export interface Step {
  readonly container: ContainerRecord
  readonly key: ItemKey
  /**
   * undefined: only look. A step refuses by throwing a RequestError, which rolls back the whole transaction.
   * A retry calls it again, so it must have no side effects.
   */
  decide(found: StoredItem | undefined, moment: EpochSeconds): ItemChange | undefined
  /** It decides the same whatever is there, so the store need not read first. */
  readonly isBlind?: boolean
  /** About how many bytes it will write, if that is known. Then small writes need not wait for large ones. */
  readonly bytes?: number
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
  /** The answers of all steps, or of those up to the one that was refused. */
  readonly steps: readonly StepAnswer[]
  /**
   * Nothing was written. `error`: the step after the answered ones threw it in `decide`. undefined: the
   * outcome of the last answered step is a refusal.
   */
  readonly refusal?: { readonly error: RequestError | undefined }
}

export interface WriteAnswer extends Answer {
  /** `conflict`: another living item has the same key in a unique index. */
  readonly outcome: 'created' | 'replaced' | 'deleted' | 'exists' | 'missing' | 'changed' | 'conflict'
  /** The item as stored, when it was created or replaced. */
  readonly item?: StoredItem
}
