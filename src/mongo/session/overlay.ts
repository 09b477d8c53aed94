/** The uncommitted writes of a transaction in one collection. Nobody else sees them. */

import { itemId } from '../../document/bson/document-id.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Collection } from '../collections/collections.ts'

export interface Pending {
  readonly key: ItemKey
  /** Undefined: deleted. */
  readonly document: Uint8Array | undefined
  /** The version found when the transaction first wrote here. Undefined: there was no document. */
  readonly baseVersion: number | undefined
}

export class TransactionOverlay {
  readonly collection: Collection
  /**
   * The newest version when the transaction first used the collection. Newer versions were written by
   * others.
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

  /** Returns a function that rolls these keys back to this point. */
  savepoint(keys: readonly ItemKey[]): () => void {
    const before = keys.map(key => [nameOf(key), this.find(key)] as const)
    return () => {
      for (const [name, pending] of before) {
        if (pending === undefined) this.#pending.delete(name)
        else this.#pending.set(name, pending)
      }
    }
  }

  /** Whether the transaction has changed or deleted this stored document. */
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
