/**
 * Lists the items of a container by the time at which they die, also those that are dead and not removed
 * yet.
 *
 * The items that inherit their lifespan and those that have a deadline of their own are two lists, each in
 * the order of its index. A page merges them. So the soonest come first without a sort, however many items
 * there are, and a page reads no more rows than it needs.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { KiB, scanBytesMax } from '../base/limits.ts'
import { leaseHere } from '../base/memory-account.ts'
import { nextSlice } from '../base/slices.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../store/item.ts'
import { neverDeadline, type Viewpoint } from '../store/policy.ts'
import type { Store } from '../store/port.ts'
import { placeOf, type RowPosition, type RowRange } from '../store/reading.ts'
import { livingAt } from '../ttl/living.ts'
import { judge } from '../ttl/report.ts'

export type LifeFilter = 'all' | 'minute' | 'dead' | 'never'

export type LifeOrder = 'soonest' | 'latest' | 'newest' | 'oldest'

export interface LifeRange {
  readonly filter: LifeFilter
  /** `latest`: those that never die, then the latest death first. `newest`: the last created first. */
  readonly order: LifeOrder
  /** Only deadlines after `from`, up to and including `to`. */
  readonly from?: number | undefined
  readonly to?: number | undefined
}

type Cohort = 'inherited' | 'own' | 'creation'

/** How far each list was read: the last row that was read, or the end. It is JSON. */
export type LifeCursor = { readonly [Name in Cohort]?: RowPosition | 'end' | undefined }

export interface ListedItem extends ScannedItem, JudgedLife {}

export interface JudgedLife {
  readonly ttl: number | null
  readonly rule: 'off' | 'inherited' | 'own' | 'never' | 'final'
  /** null: never, or no longer known. */
  readonly dies: number | null
  readonly isDead: boolean
}

export interface LifePage {
  readonly items: readonly ListedItem[]
  readonly at: Viewpoint
  /** Where the next page begins; undefined: this was the last. */
  readonly next: LifeCursor | undefined
  readonly examined: number
  readonly bytes: number
}

export interface LifePageSize {
  readonly itemsMax: number
  /** The most rows to examine. The page may then be short. */
  readonly examineMax: number
  /** Which of the items are wanted. */
  readonly accepts?: ((item: StoredItem) => boolean) | undefined
}

/** Seconds that `minute` looks ahead. */
const minuteS = 60

/** Earlier than every second and deadline, and later. */
const beforeAll = -1
const afterAll = neverDeadline

export function judgeLife({ policy, moment }: Viewpoint, row: Pick<StoredItem, 'ts' | 'deadline'>): JudgedLife {
  const { state, rule, ttl, expiresAt } = judge(policy, moment, row)
  return { ttl, rule, dies: expiresAt, isDead: state === 'dead' }
}

export async function listLives(
  store: Store,
  container: ContainerRecord,
  range: LifeRange,
  cursor: LifeCursor,
  size: LifePageSize,
): Promise<LifePage> {
  const at = { moment: (await store.moment()) as EpochSeconds, policy: container.policy }
  const { filter, order } = range
  const isByCreation = order === 'newest' || order === 'oldest'
  const isReverse = isByCreation ? order === 'newest' : (filter === 'dead') !== (order === 'latest')
  const cohorts = isByCreation ? [everything()] : cohortsOf(range, at)
  // Of two rows at the same place, the row of the first list comes first. `latest` is exactly the reverse
  // order of `soonest`, so it reverses the lists as well.
  const inOrder = order === 'latest' ? cohorts.reverse() : cohorts
  const lists = inOrder.map(bounds => new RowList(store, container, { ...bounds, isReverse }, cursor[bounds.by]))
  const isWanted = isByCreation ? wantedBy(filter, at) : () => true
  const items: ListedItem[] = []
  using lease = leaseHere('work')
  let examined = 0
  let bytes = 0
  let sliceEnd = sliceBytes
  const rowsWanted = Math.min(size.itemsMax, size.examineMax)
  while (items.length < size.itemsMax && examined < size.examineMax && bytes < livesBytesMax) {
    await Promise.all(lists.map(list => list.prepare(Math.min(rowsWanted, 1000))))
    const first = firstOf(lists, at, isReverse)
    if (first === undefined) break
    const row = first.take()
    examined++
    bytes += row.body.length
    const listed = { ...row, ...judgeLife(at, row) }
    if (isWanted(listed) && size.accepts?.(row) !== false) {
      lease?.add(row.body.length)
      items.push(listed)
    }
    if (examined % 64 !== 0 && bytes < sliceEnd) continue
    await nextSlice()
    sliceEnd = bytes + sliceBytes
  }
  const next: { [Name in Cohort]?: RowPosition | 'end' | undefined } = {}
  for (const list of lists) next[list.by] = list.position
  const isEnd = lists.every(list => list.isEnd)
  return { items, at, next: isEnd ? undefined : next, examined, bytes }
}

/** Other requests get a turn after this many bytes. */
const sliceBytes = 256 * KiB

/** A page ends when it has read this many bytes, however few items it holds. */
export const livesBytesMax = 16 * scanBytesMax

type Bounds = Pick<RowRange, 'by' | 'after' | 'upTo'>

function everything(): Bounds {
  return { by: 'creation', after: beforeAll, upTo: afterAll }
}

function wantedBy(filter: LifeFilter, { moment }: Viewpoint): (life: JudgedLife) => boolean {
  switch (filter) {
    case 'dead':
      return ({ isDead }) => isDead
    case 'minute':
      return ({ isDead, dies }) => !isDead && dies !== null && dies <= moment + minuteS
    case 'never':
      return ({ isDead, dies }) => !isDead && dies === null
    case 'all':
      return ({ isDead }) => !isDead
  }
}

/** The parts of the two lists that a filter wants. */
function cohortsOf({ filter, from, to }: LifeRange, { moment, policy }: Viewpoint): Bounds[] {
  const { inheritedAfter, ownAfter } = livingAt(policy, moment)
  const { defaultTtl } = policy
  const ranges: Bounds[] = []
  const add = (by: 'inherited' | 'own', after: number, upTo: number) => {
    if (upTo > after) ranges.push({ by, after, upTo })
  }
  if (filter === 'dead') {
    add('inherited', beforeAll, inheritedAfter)
    add('own', beforeAll, ownAfter)
    return ranges
  }
  const doInheritedDie = defaultTtl !== null && defaultTtl > 0
  if (filter === 'never') {
    if (!doInheritedDie) add('inherited', inheritedAfter, afterAll)
    add('own', defaultTtl === null ? ownAfter : neverDeadline - 1, afterAll)
    return ranges
  }
  const last = neverDeadline - 1
  const low = from ?? beforeAll
  const high = Math.min(filter === 'minute' ? moment + minuteS : afterAll, to ?? afterAll)
  // Without an upper bound, items that never die come at the end.
  if (doInheritedDie)
    add('inherited', Math.max(inheritedAfter, low - defaultTtl), high === afterAll ? high : high - defaultTtl)
  else if (high === afterAll) add('inherited', inheritedAfter, afterAll)
  if (defaultTtl !== null) add('own', Math.max(ownAfter, low), high === afterAll ? high : Math.min(high, last))
  else if (high === afterAll) add('own', ownAfter, afterAll)
  return ranges
}

/** The row at a key, found through the index that orders it. */
export async function lookAtItem(
  store: Store,
  container: ContainerRecord,
  key: ItemKey,
): Promise<ListedItem | undefined> {
  const found = await store.inspect(container, key)
  if (found === undefined) return undefined
  const by = found.deadline === null ? 'inherited' : 'own'
  const { at } = placeOf(found, by)
  const behind = { at, sequence: found.sequence - 1 }
  const range = { by, after: at - 1, upTo: at, isReverse: false, behind } as const
  const { rows } = await store.listRows(container, range, { itemsMax: 1, bytesMax: scanBytesMax })
  const [row] = rows
  if (row?.sequence !== found.sequence) return undefined
  const moment = await store.moment()
  return { ...row, ...judgeLife({ moment, policy: container.policy }, row) }
}

/** The list whose next row comes first. Items that never die come last. */
function firstOf(lists: readonly RowList[], at: Viewpoint, isReverse: boolean): RowList | undefined {
  let first: RowList | undefined
  let best = Number.POSITIVE_INFINITY
  for (const list of lists) {
    const row = list.peek()
    if (row === undefined) continue
    const dies = endOf(row, at)
    const place = isReverse ? -dies : dies
    if (first !== undefined && place >= best) continue
    first = list
    best = place
  }
  return first
}

/**
 * The time of death by which the lists are merged. For an item that died under an earlier policy, it is
 * computed from the marks of the policy.
 */
function endOf(
  { ts, deadline }: ScannedItem,
  { policy: { defaultTtl, inheritedDeadAt, ownDeadAt } }: Viewpoint,
): number {
  if (deadline !== null)
    return defaultTtl === null && deadline > ownDeadAt ? Number.POSITIVE_INFINITY : finite(deadline)
  if (defaultTtl !== null && defaultTtl > 0) return ts + defaultTtl
  return ts <= inheritedDeadAt ? ts + (ownDeadAt - inheritedDeadAt) : Number.POSITIVE_INFINITY
}

function finite(deadline: number): number {
  return deadline === neverDeadline ? Number.POSITIVE_INFINITY : deadline
}

/** Whether a position of an earlier page lies before the range, because its row has died meanwhile. */
function isBefore(from: RowPosition | undefined, { after, upTo, isReverse }: RowRange): boolean {
  return from !== undefined && (isReverse ? from.at > upTo : from.at <= after)
}

/** One list, read in batches. */
class RowList {
  readonly by: RowRange['by']
  readonly #store: Store
  readonly #container: ContainerRecord
  readonly #range: RowRange
  #rows: readonly ScannedItem[] = []
  #at = 0
  #behind: RowPosition | undefined
  #isExhausted: boolean

  constructor(store: Store, container: ContainerRecord, range: RowRange, from: RowPosition | 'end' | undefined) {
    this.by = range.by
    this.#store = store
    this.#container = container
    this.#range = range
    this.#behind = from === 'end' || isBefore(from, range) ? undefined : from
    this.#isExhausted = from === 'end'
  }

  /** Reads a batch if needed. Afterwards there is a next row, or none is left. */
  async prepare(itemsMax: number): Promise<void> {
    if (this.#at < this.#rows.length || this.#isExhausted) return
    const range = { ...this.#range, behind: this.#behind }
    const { rows, last } = await this.#store.listRows(this.#container, range, { itemsMax, bytesMax: scanBytesMax })
    this.#rows = rows
    this.#at = 0
    this.#isExhausted = last === undefined
  }

  peek(): ScannedItem | undefined {
    return this.#rows[this.#at]
  }

  take(): ScannedItem {
    const row = this.#rows[this.#at++]!
    this.#behind = placeOf(row, this.by)
    return row
  }

  get isEnd(): boolean {
    return this.#isExhausted && this.#at >= this.#rows.length
  }

  get position(): RowPosition | 'end' | undefined {
    return this.isEnd ? 'end' : this.#behind
  }
}
