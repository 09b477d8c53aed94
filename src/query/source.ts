/** Where the items of a query come from, in which order, and how reading them goes on where it stopped. */

import type { EpochSeconds } from '../base/clock.ts'
import { scanBytesMax, scanItemsMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ContainerRecord, ItemKey, ScanRange, Store, StoredItem } from '../storage/port.ts'

/** Behind which item reading goes on; JSON, because it travels in continuation tokens. */
export type SourcePosition = readonly (string | number)[]

export interface SourceBatch {
  readonly version: number
  readonly items: readonly { readonly item: StoredItem; readonly position: SourcePosition }[]
  /** Where the next batch begins; undefined when there is none. */
  readonly next: SourcePosition | undefined
}

export interface Source {
  /** Reads a bounded number of items that are living at the moment. */
  read(after: SourcePosition | undefined, at: EpochSeconds): MaybePromise<SourceBatch>
}

const batch = { itemsMax: scanItemsMax, bytesMax: scanBytesMax }

/** All items of a range, in key order. */
export function scanSource(store: Store, container: ContainerRecord, range: ScanRange): Source {
  return {
    read: (after, at) =>
      andThen(store.scan(container, { ...range, after: keyOf(after), at }, batch), answer => ({
        version: answer.version,
        items: answer.items.map(item => ({ item, position: positionOf(item.key) })),
        next: answer.last === undefined ? undefined : positionOf(answer.last),
      })),
  }
}

function positionOf({ epk, pk, id }: ItemKey): SourcePosition {
  return [epk, pk, id]
}

function keyOf(position: SourcePosition | undefined): ItemKey | undefined {
  if (position === undefined) return undefined
  const [epk, pk, id] = position as readonly string[]
  return { epk: epk!, pk: pk!, id: id! }
}
