/** Keys of different buckets that a gateway to PostgreSQL writes together. */

import { firstOfStripe } from '../../src/adapters/postgres/rows/keys.ts'
import type { ItemKey } from '../../src/store/item.ts'
import { keyOf } from '../contract/store-contract.ts'

export const bucketIn = ({ epk }: ItemKey) => Number.parseInt(epk.slice(0, 2), 16)

/** Keys of the stripe of `keyOf('a')`. */
export function keysOfStripe(count: number): ItemKey[] {
  const first = firstOfStripe(bucketIn(keyOf('a')))
  const keys = new Map<number, ItemKey>()
  for (let n = 0; keys.size < count; n++) {
    const key = keyOf('x', `p${n}`)
    if (firstOfStripe(bucketIn(key)) === first) keys.set(bucketIn(key), key)
  }
  return [...keys.values()]
}
