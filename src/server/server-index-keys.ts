/**
 * Makes the index keys of a server's items. The code for Mongo's documents is large, so it is loaded before
 * the first document can exist: when the store has a collection, or with the Mongo side.
 */

import { assert } from '../base/error.ts'
import { jsonIndexKeys, type KeyMaker } from '../document/index-keys.ts'
import type { Store } from '../store/port.ts'

export class ServerIndexKeys {
  #ofDocuments: KeyMaker | undefined

  readonly keysOf: KeyMaker = (definitions, body) => {
    if (typeof body === 'string') return jsonIndexKeys(definitions, body)
    assert(this.#ofDocuments !== undefined, 'the code for documents is loaded before there are any')
    return this.#ofDocuments(definitions, body)
  }

  async loadForDocuments(): Promise<void> {
    this.#ofDocuments ??= (await import('../engine/index-keys.ts')).bsonIndexKeys
  }

  async loadIfNeeded(store: Store): Promise<void> {
    for (const database of await store.databases()) {
      const containers = await store.containers(database)
      if (containers.some(({ encoding }) => encoding === 'bson')) return this.loadForDocuments()
    }
  }
}
