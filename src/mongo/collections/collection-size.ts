/** How many documents a collection has (exact), and how large they are (estimated). */

import { scanBytesMax } from '../../base/limits.ts'
import type { Engine } from '../../engine/engine.ts'
import { wholeRange } from '../../store/reading.ts'
import type { Fields } from '../answers/fields.ts'
import type { Collection } from './collections.ts'

/** The size of a collection is estimated from this many documents. */
const mongoSizeSampleMax = 100

export interface Measure {
  /** Living documents. */
  readonly count: number
  /** Estimated from the first documents. */
  readonly bytes: number
}

export async function measure(engine: Engine, collection: Collection): Promise<Measure> {
  const count = await engine.reports.countLiving(collection.container)
  const { items } = await engine.uncharged.scan(collection.container, wholeRange, {
    itemsMax: mongoSizeSampleMax,
    bytesMax: scanBytesMax,
  })
  const sampled = items.reduce((sum, { body }) => sum + body.length, 0)
  return { count, bytes: items.length === 0 ? 0 : Math.round((sampled / items.length) * count) }
}

/** How large a collection is, as `collStats` and its stage show it. */
export async function storageStats(engine: Engine, collection: Collection | undefined, scale: number): Promise<Fields> {
  const { count, bytes } = collection === undefined ? { count: 0, bytes: 0 } : await measure(engine, collection)
  const indexes = collection?.indexes ?? []
  const size = Math.floor(bytes / scale)
  return {
    size,
    count,
    avgObjSize: count === 0 ? undefined : Math.round(bytes / count),
    numOrphanDocs: 0,
    storageSize: size,
    freeStorageSize: 0,
    capped: false,
    nindexes: indexes.length,
    indexBuilds: indexes.filter(({ number }) => isBuilding(collection!, number)).map(({ name }) => name),
    indexSizes: Object.fromEntries(indexes.map(({ name }) => [name, 0])),
    totalIndexSize: 0,
    totalSize: size,
    scaleFactor: scale,
  }
}

function isBuilding({ container }: Collection, number: number | undefined): boolean {
  return container.indexes.some(({ definition, isReady }) => definition.number === number && !isReady)
}
