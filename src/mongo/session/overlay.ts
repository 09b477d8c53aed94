/**
 * What stands in the place of stored documents in one collection: for a transaction its own writes, which
 * nobody else sees, and for every reader of a snapshot what others have changed since.
 */

import { itemId } from '../../document/bson/document-id.ts'
import type { ItemKey } from '../../store/item.ts'
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

export class TransactionOverlay {
  readonly collection: Collection
  readonly #snapshot: ReadSnapshot
  /**
   * The newest version when the collection was first used. Newer ones that are not among the past documents
   * were written by another gateway.
   */
  readonly snapshotVersion: number
  readonly #pending = new Map<string, Pending>()

  constructor(collection: Collection, snapshot: ReadSnapshot, snapshotVersion: number) {
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
    this.#pending.set(nameOfKey(pending.key), pending)
  }

  /** Returns a function that rolls these keys back to this point. */
  savepoint(keys: readonly ItemKey[]): () => void {
    const before = keys.map(key => [nameOfKey(key), this.find(key)] as const)
    return () => {
      for (const [name, pending] of before) {
        if (pending === undefined) this.#pending.delete(name)
        else this.#pending.set(name, pending)
      }
    }
  }

  /**
   * From stored documents to those that the reader sees, but for those of the past, whose life must still be
   * judged. Call it when everything has been read: what was read first may have changed since.
   */
  cover(stored: readonly Uint8Array[]): { readonly documents: Uint8Array[]; readonly past: PastDocument[] } {
    const changed = this.#snapshot.documents(this.collection.container.number)
    const past = changed.filter(({ key }) => !this.#pending.has(nameOfKey(key)))
    const covered = new Set([...this.#pending.keys(), ...past.map(({ key }) => nameOfKey(key))])
    const isShown = (document: Uint8Array) => !covered.has(nameOfKey(this.#keyOf(document)))
    const documents = covered.size === 0 ? [...stored] : stored.filter(isShown)
    for (const { document } of this.#pending.values()) if (document !== undefined) documents.push(document)
    return { documents, past }
  }

  #keyOf(document: Uint8Array): ItemKey {
    return this.collection.keyOf(itemId(document, document[4]!, 9), document)
  }

  pending(): Pending[] {
    return [...this.#pending.values()]
  }
}
