/**
 * A transaction: what a session wants to happen wholly or not at all.
 *
 * Nothing is locked and nothing is stored while a transaction runs: its writes wait in memory, over what is
 * stored (`overlay.ts`). Committing is one transaction of the store, in which every document must still be as
 * it was found. A document that somebody else wrote after the transaction began cannot be written by it: the
 * first one wins, as in MongoDB.
 */

import { machine } from '../../base/clock.ts'
import type { Collection } from '../collections/collections.ts'
import { TransactionOverlay } from './overlay.ts'

/** MongoDB's default for how long a transaction may run. */
const mongoTransactionMsMax = 60_000

export class Transaction {
  readonly number: bigint
  readonly #overlays = new Map<number, TransactionOverlay>()
  readonly #startMs = machine.monotonicMs()
  #state: 'active' | 'committed' | 'aborted' = 'active'

  constructor(number: bigint) {
    this.number = number
  }

  get isActive(): boolean {
    return this.#state === 'active' && machine.monotonicMs() - this.#startMs < mongoTransactionMsMax
  }

  get isCommitted(): boolean {
    return this.#state === 'committed'
  }

  overlay({ container }: Collection): TransactionOverlay | undefined {
    return this.#overlays.get(container.number)
  }

  begin(collection: Collection, snapshotVersion: number): TransactionOverlay {
    const overlay = new TransactionOverlay(collection, snapshotVersion)
    this.#overlays.set(collection.container.number, overlay)
    return overlay
  }

  get overlays(): TransactionOverlay[] {
    return [...this.#overlays.values()]
  }

  commit(): void {
    this.#state = 'committed'
    this.#overlays.clear()
  }

  abort(): void {
    if (this.#state === 'active') this.#state = 'aborted'
    this.#overlays.clear()
  }
}
