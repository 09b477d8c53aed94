/**
 * A transaction: writes of a session that happen together or not at all.
 *
 * While a transaction runs, nothing is locked and nothing is stored. Its writes wait in memory
 * (`overlay.ts`). The commit is one transaction of the store. It fails if a document has changed since it
 * was read. A transaction cannot write a document that somebody else wrote after the transaction began: the
 * first writer wins, as in MongoDB.
 */

import { machine } from '../../base/clock.ts'
import type { Collection } from '../collections/collections.ts'
import { TransactionOverlay } from './overlay.ts'

/** MongoDB's default for the length of a transaction. */
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
