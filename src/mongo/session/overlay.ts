/**
 * What stands in the place of stored documents in one collection: for a transaction its own writes, which
 * nobody else sees, and for every reader of a snapshot what others have changed since.
 */

import type { MemoryLease } from '../../base/memory-account.ts'
import { itemId } from '../../document/bson/document-id.ts'
import type { ItemKey } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Collection } from '../collections/collections.ts'
import { nameOfKey, type PastDocument, type ReadSnapshot } from './past-documents.ts'

export interface Pending {
  readonly key: ItemKey
  /** Undefined: deleted. */
  readonly document: Uint8Array | undefined
  /** The version found when the transaction first wrote here. Undefined: there was no document. */
  readonly baseVersion: number | undefined
  readonly isReplacement: boolean
}

export interface Cover {
  readonly isEmpty: boolean
  /** Whether a stored document is not seen. */
  hides(stored: Uint8Array): boolean
  /** The reader's own documents. */
  readonly written: readonly Uint8Array[]
  /** Documents of the past, whose life must still be judged. */
  readonly past: readonly PastDocument[]
}

export class TransactionOverlay {
  readonly collection: Collection
  readonly #snapshot: ReadSnapshot
  /**
   * The newest version when the collection was first used. Newer ones that are not among the past documents
   * were written by another gateway.
   */
  readonly snapshotVersion: number
  readonly #pending = new Map<string, Pending>()
  /** The lease of the transaction. */
  readonly #lease: MemoryLease | undefined

  constructor(collection: Collection, snapshot: ReadSnapshot, snapshotVersion: number, lease?: MemoryLease) {
    this.#lease = lease
    this.collection = collection
    this.#snapshot = snapshot
    this.snapshotVersion = snapshotVersion
  }

  find(key: ItemKey): Pending | undefined {
    return this.#pending.get(nameOfKey(key))
  }

  /** What others have changed since the snapshot. Look after reading the store, not before. */
  past(key: ItemKey): PastDocument | undefined {
    return this.#snapshot.find(this.collection.container.number, key)
  }

  put(pending: Pending): void {
    const name = nameOfKey(pending.key)
    const grown = bytesOf(pending) - bytesOf(this.#pending.get(name))
    const refusal = grown > 0 ? this.#lease?.tryAdd(grown) : this.#lease?.release(-grown)
    if (refusal?.kind === 'over_memory') throw tooLarge()
    if (refusal !== undefined) throw refusal
    this.#pending.set(name, pending)
  }

  /** Returns a function that rolls these keys back to this point. */
  savepoint(keys: readonly ItemKey[]): () => void {
    const before = keys.map(key => [nameOfKey(key), this.find(key)] as const)
    return () => {
      for (const [name, pending] of before) {
        this.#lease?.force(bytesOf(pending))
        this.#lease?.release(bytesOf(this.#pending.get(name)))
        if (pending === undefined) this.#pending.delete(name)
        else this.#pending.set(name, pending)
      }
    }
  }

  /**
   * What stands in the place of stored documents, at this moment. Call it when everything has been read: what
   * was read first may have changed since.
   */
  cover(): Cover {
    const past = this.#snapshot.documents(this.collection.container.number)
    for (const name of this.#pending.keys()) past.delete(name)
    const pending = new Map(this.#pending)
    return {
      isEmpty: past.size + pending.size === 0,
      hides: document => {
        const name = nameOfKey(this.#keyOf(document))
        return past.has(name) || pending.has(name)
      },
      written: [...pending.values()].flatMap(({ document }) => document ?? []),
      past: [...past.values()],
    }
  }

  #keyOf(document: Uint8Array): ItemKey {
    return this.collection.keyOf(itemId(document, document[4]!, 9), document)
  }

  pending(): Pending[] {
    return [...this.#pending.values()]
  }
}

/** What a pending write takes besides the document: the key twice, and the objects. */
const pendingBytes = 400

function bytesOf(pending: Pending | undefined): number {
  return pending === undefined ? 0 : pendingBytes + (pending.document?.length ?? 0)
}

/** MongoDB's code and words. */
function tooLarge(): CommandError {
  return new CommandError(
    'TransactionTooLargeForCache',
    'transaction is too large and will not fit in the storage engine cache',
  )
}
