/** Sources of items for a query: a scan, point reads or an index, each with positions to continue from. */

import { scanBytesMax } from '../base/limits.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { ItemKey, StoredItem } from '../store/item.ts'
import type { Viewpoint } from '../store/policy.ts'
import {
  type ContainerReader,
  type IndexPosition,
  type IndexRange,
  isWholeRange,
  type ScanRange,
} from '../store/reading.ts'
import { splitSortKey } from './sort-key.ts'

/** The item after which reading continues. It is JSON, because it travels in continuation tokens. */
export type SourcePosition = readonly (string | number)[]

export interface SourceBatch {
  readonly version: number
  readonly items: readonly StoredItem[]
  /** The position after the item with this index in the batch. Made on demand: a page needs at most one. */
  positionOf(at: number): SourcePosition
  /** Where the next batch begins; undefined when there is none. */
  readonly next: SourcePosition | undefined
  /** The batch ended early: the next one may well be empty. */
  readonly isPart?: boolean
}

/** Items in batches. */
export interface ItemSource {
  /** Reads at most `itemsMax` living items after the position. */
  read(after: SourcePosition | undefined, at: Viewpoint, itemsMax: number): MaybePromise<SourceBatch>
  /**
   * The position just before the item of a sort key. Only present when the source is in sort key order; then
   * a page can start there and stop when it is full.
   */
  positionBefore?(sortKey: Uint8Array): SourcePosition
}

/** Which source to use, as plain data: the page may be made in another thread. */
export type SourcePlan =
  | { readonly kind: 'scan' }
  | { readonly kind: 'points'; readonly keys: readonly ItemKey[] }
  /** These items; nothing is read. */
  | { readonly kind: 'given'; readonly items: readonly StoredItem[] }
  | ({ readonly kind: 'index'; readonly isOrdered: boolean; readonly prefix: Uint8Array } & Pick<
      IndexRange,
      'index' | 'keys' | 'isReverse' | 'isDistinct'
    >)

export function sourceOf(
  plan: SourcePlan,
  reader: ContainerReader,
  range: ScanRange,
  /** The result does not depend on the order of items. */
  { isOrderFree }: { isOrderFree: boolean },
): ItemSource {
  switch (plan.kind) {
    case 'scan':
      return isOrderFree && isWholeRange(range) && reader.scanRows !== undefined
        ? { read: (after, at, itemsMax) => readRows(reader as RowReader, after, at, itemsMax) }
        : scanSource(reader, range)
    case 'points':
      return pointSource(reader, plan.keys)
    case 'given':
      return batchSource({ version: 0, items: plan.items, positionOf: at => [at], next: undefined })
    case 'index':
      return indexSource(reader, plan, range)
  }
}

/** A source with one batch that has been read already. */
export function batchSource(batch: SourceBatch): ItemSource {
  return { read: () => batch }
}

type RowReader = Required<Pick<ContainerReader, 'scanRows'>>

function readRows(
  reader: RowReader,
  after: SourcePosition | undefined,
  at: Viewpoint,
  itemsMax: number,
): MaybePromise<SourceBatch> {
  const page = { itemsMax, bytesMax: scanBytesMax }
  return andThen(reader.scanRows(after?.[0] as number | undefined, at, page), ({ version, items, last }) => ({
    version,
    items,
    positionOf: at => [items[at]!.sequence],
    next: last === undefined ? undefined : [last],
  }))
}

/** All items of a range, in key order. */
function scanSource(reader: ContainerReader, range: ScanRange): ItemSource {
  return {
    read: (after, at, itemsMax) =>
      andThen(reader.scan({ ...range, after: keyOf(after), at }, { itemsMax, bytesMax: scanBytesMax }), answer => ({
        version: answer.version,
        items: answer.items,
        positionOf: at => keyPosition(answer.items[at]!.key),
        next: answer.last === undefined ? undefined : keyPosition(answer.last),
      })),
  }
}

/** Items by key, in key order: for a filter on the id within one partition key. */
function pointSource(reader: ContainerReader, keys: readonly ItemKey[]): ItemSource {
  const ordered = keys.toSorted((a, b) => Buffer.compare(Buffer.from(a.id), Buffer.from(b.id)))
  return {
    read: async (after, at) => {
      const behind = keyOf(after)
      const rest =
        behind === undefined
          ? ordered
          : ordered.filter(({ id }) => Buffer.compare(Buffer.from(id), Buffer.from(behind.id)) > 0)
      const items: StoredItem[] = []
      const found: ItemKey[] = []
      let version = 0
      for (const key of rest) {
        const answer = await reader.read(key, at)
        version = answer.version
        if (answer.item === undefined) continue
        items.push(answer.item)
        found.push(key)
      }
      return { version, items, positionOf: at => keyPosition(found[at]!), next: undefined }
    },
  }
}

/** The items in a part of an index, in key order. An item with several entries is returned at the first. */
function indexSource(
  reader: ContainerReader,
  { index, keys, isReverse, isDistinct = false, isOrdered, prefix }: Extract<SourcePlan, { kind: 'index' }>,
  within: ScanRange,
): ItemSource {
  return {
    read: (after, at, itemsMax) => {
      const range = { index, keys, isReverse, isDistinct, after: entryOf(after), within: { ...within, at } }
      return andThen(reader.scanIndex(range, { itemsMax, bytesMax: scanBytesMax }), answer => ({
        version: answer.version,
        items: answer.items,
        positionOf: at => entryPosition(answer.items[at]!.indexKey, answer.items[at]!.sequence),
        next: answer.last === undefined ? undefined : entryPosition(answer.last.key, answer.last.sequence),
        isPart: answer.isPart === true,
      }))
    },
    ...(isOrdered && {
      positionBefore: (sortKey: Uint8Array) => {
        const { key, sequence } = splitSortKey(sortKey, isReverse)
        return entryPosition(Buffer.concat([prefix, key]), isReverse ? sequence + 1 : sequence - 1)
      },
    }),
  }
}

function entryPosition(key: Uint8Array, sequence: number): SourcePosition {
  return [Buffer.from(key).toString('base64'), sequence]
}

function entryOf(position: SourcePosition | undefined): IndexPosition | undefined {
  if (position === undefined) return undefined
  const [key, sequence] = position
  return { key: Buffer.from(key as string, 'base64'), sequence: sequence as number }
}

function keyPosition({ epk, pk, id }: ItemKey): SourcePosition {
  return [epk, pk, id]
}

function keyOf(position: SourcePosition | undefined): ItemKey | undefined {
  if (position === undefined) return undefined
  const [epk, pk, id] = position as readonly string[]
  return { epk: epk!, pk: pk!, id: id! }
}
