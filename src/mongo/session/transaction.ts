/**
 * A transaction: writes of a session that happen together or not at all.
 *
 * While a transaction runs, nothing is locked and nothing is stored. It reads one snapshot
 * (`past-documents.ts`). Its writes wait in memory (`overlay.ts`), and others know of them
 * (`write-intents.ts`). A transaction cannot write a document that somebody else wrote since its snapshot:
 * the first writer wins, as in MongoDB. The commit is one transaction of the store. It fails if a document is
 * not as it was found.
 */

import { machine } from '../../base/clock.ts'
import type { MemoryLease } from '../../base/memory-account.ts'
import type { Collection } from '../collections/collections.ts'
import type { PlannedCollection } from '../collections/planned-collection.ts'
import { TransactionOverlay } from './overlay.ts'
import type { PastDocuments, ReadSnapshot } from './past-documents.ts'
import type { IntentHolder, WriteIntents } from './write-intents.ts'

/** MongoDB's default for the length of a transaction. Until then others wait for it, and notes are kept. */
const mongoTransactionMsMax = 60_000

/** The same once the connection that used it is closed. */
const mongoTransactionLeftMsMax = 15_000

export class Transaction implements IntentHolder {
  readonly number: bigint
  readonly snapshot: ReadSnapshot
  readonly ended: Promise<void>
  /** Collections that the commit will create, by name. */
  readonly planned = new Map<string, PlannedCollection>()
  /** The API parameters of its first command. */
  api: string | undefined
  readonly #intents: WriteIntents<Transaction>
  readonly #overlays = new Map<number, TransactionOverlay>()
  #timer: NodeJS.Timeout
  #state: 'active' | 'committed' | 'aborted' = 'active'
  #isCommitting = false
  #resolveEnded: () => void = () => {}

  /** What its writes take. */
  readonly #lease: MemoryLease

  constructor(
    number: bigint,
    { past, intents, lease }: { past: PastDocuments; intents: WriteIntents<Transaction>; lease: MemoryLease },
  ) {
    this.#lease = lease
    this.number = number
    this.snapshot = past.open()
    this.#intents = intents
    this.ended = new Promise(resolve => {
      this.#resolveEnded = resolve
    })
    this.#timer = machine.setTimeout(() => this.abort(), mongoTransactionMsMax).unref()
  }

  get isActive(): boolean {
    return this.#state === 'active'
  }

  get isCommitted(): boolean {
    return this.#state === 'committed'
  }

  overlay({ container }: Collection): TransactionOverlay | undefined {
    return this.#overlays.get(container.number)
  }

  begin(collection: Collection, snapshotVersion: number): TransactionOverlay {
    const overlay = new TransactionOverlay(collection, this.snapshot, snapshotVersion, this.#lease)
    this.#overlays.set(collection.container.number, overlay)
    return overlay
  }

  /** Called when the collection has changed before anything was written to it. */
  forget({ container }: Collection): void {
    this.#overlays.delete(container.number)
  }

  get overlays(): TransactionOverlay[] {
    return [...this.#overlays.values()]
  }

  /** The connection that used it is closed. Its client may come back on another one, but soon. */
  expectEnd(): void {
    if (!this.isActive || this.#isCommitting) return
    machine.clearTimeout(this.#timer)
    this.#timer = machine.setTimeout(() => this.abort(), mongoTransactionLeftMsMax).unref()
  }

  /** From now on only the commit decides how it ends. */
  beginCommit(): void {
    this.#isCommitting = true
    machine.clearTimeout(this.#timer)
  }

  commit(): void {
    this.#end('committed')
  }

  abort(): void {
    this.#end('aborted')
  }

  #end(state: 'committed' | 'aborted'): void {
    if (this.#state !== 'active') return
    this.#state = state
    machine.clearTimeout(this.#timer)
    this.snapshot.close()
    this.#intents.release(this)
    this.#overlays.clear()
    this.#lease[Symbol.dispose]()
    this.planned.clear()
    this.#resolveEnded()
  }
}
