/** What a transaction has written to one collection and nobody else sees yet. */

import type { ItemKey } from '../../store/item.ts'
import type { Collection } from '../collections/collections.ts'
import { itemId } from '../collections/document-key.ts'

export interface Pending {
  readonly key: ItemKey
  /** undefined: deleted. */
  readonly document: Uint8Array | undefined
  /** The version that was found when the transaction first wrote here; undefined: there was none. */
  readonly baseVersion: number | undefined
}

export class TransactionOverlay {
  readonly collection: Collection
  /**
   * The newest version in the collection when the transaction came to it: what is newer was written by others
   * since.
   */
  readonly snapshotVersion: number
  readonly #pending = new Map<string, Pending>()

  constructor(collection: Collection, snapshotVersion: number) {
    this.collection = collection
    this.snapshotVersion = snapshotVersion
  }

  find(key: ItemKey): Pending | undefined {
    return this.#pending.get(nameOf(key))
  }

  put(pending: Pending): void {
    this.#pending.set(nameOf(pending.key), pending)
  }

  /** Gives back what returns to how it was at these keys. */
  savepoint(keys: readonly ItemKey[]): () => void {
    const before = keys.map(key => [nameOf(key), this.find(key)] as const)
    return () => {
      for (const [name, pending] of before) {
        if (pending === undefined) this.#pending.delete(name)
        else this.#pending.set(name, pending)
      }
    }
  }

  /** Whether the transaction has a word of its own about this stored document. */
  covers(document: Uint8Array): boolean {
    return this.#pending.has(nameOf(this.collection.keyOf(itemId(document, document[4]!, 9), document)))
  }

  documents(): Uint8Array[] {
    return [...this.#pending.values()].flatMap(({ document }) => (document === undefined ? [] : [document]))
  }

  pending(): Pending[] {
    return [...this.#pending.values()]
  }
}

function nameOf({ pk, id }: ItemKey): string {
  return `${id} ${pk}`
}
