/** How many documents a collection has, exactly, and how large they are, about. */

import { mongoSizeSampleMax, scanBytesMax } from '../base/limits.ts'
import type { Engine } from '../engine/engine.ts'
import type { Collection } from './collections.ts'

export interface Measure {
  /** Living documents. */
  readonly count: number
  /** From the sizes of the first documents. */
  readonly bytes: number
}

export async function measure(engine: Engine, { container }: Collection): Promise<Measure> {
  const { living: count } = await engine.ttlStatus(container)
  const { items } = await engine.store.scan(
    container,
    { min: '', maxExclusive: 'FF' },
    { itemsMax: mongoSizeSampleMax, bytesMax: scanBytesMax },
  )
  const sampled = items.reduce((sum, { body }) => sum + body.length, 0)
  return { count, bytes: items.length === 0 ? 0 : Math.round((sampled / items.length) * count) }
}
