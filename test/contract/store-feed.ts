/** The changes of a container as a feed whose order is checked (P12). */

import { RequestError } from '../../src/base/error.ts'
import { textOf } from '../../src/document/body.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import type { Change, Feed } from '../support/feed-check.ts'
import { put } from '../support/item-write.ts'
import { keyOf } from './store-contract.ts'

const everything = { min: '', maxExclusive: 'FF' }

/** The keys of one writer are in several buckets, which other writers use too. */
function keyFor(key: string): ItemKey {
  return keyOf(key, `p${[...key].reduce((sum, letter) => sum + letter.charCodeAt(0), 0) % 7}`)
}

/** Writes through several stores, alone and in transactions over two buckets, and reads the changes back. */
export function storeFeed(stores: readonly Store[], container: ContainerRecord): Feed {
  let turn = 0
  return {
    write: async ({ key, n }) => {
      const store = stores[turn++ % stores.length]!
      const write = put('upsert', keyFor(key), { content: { key, n } })
      // Single writes, transactions over two buckets, and some transactions whose second step is refused.
      if (n % 4 !== 0) return (await store.write(container, write)).item !== undefined
      const isRefused = n % 12 === 0
      const { refusal } = await store.transact([
        { container, key: keyFor(key), decide: () => write },
        {
          container,
          key: keyOf('shared', `s${turn % 3}`),
          decide: () => {
            if (isRefused) throw new RequestError('malformed', 'changed our mind')
            return put('upsert', keyOf('shared', `s${turn % 3}`), { content: { key: `shared ${turn % 3}`, n: 0 } })
          },
        },
      ])
      return refusal === undefined
    },
    read: async position => {
      const store = stores[turn % stores.length]!
      const page = await store.changes(
        container,
        { within: everything, after: position },
        { itemsMax: 7, bytesMax: 1 << 20 },
      )
      const changes = page.items.map(({ body }) => JSON.parse(textOf(body)) as Change)
      return { ...page, changes: changes.filter(({ key }) => !key.startsWith('shared')) }
    },
  }
}
