/**
 * The rows of the grid: pages by continuation, and what happens to them while somebody looks.
 *
 * A list begins at an index of the whole: at 0, or after a jump at the place that was asked for. It grows at
 * its end only, and keeps `rowsMax` rows. A jump far away asks for what dies after a time, not for an
 * offset: the server reads that from its index, however many items come before. Where no time tells the
 * place, the rows between are loaded, in larger pages, so a row is never shown at a place that is not its
 * own. There a list ends at its reach, and what lies beyond is found from the other end, by the opposite
 * order.
 */

import { batch, computed, signal } from '@preact/signals'
import { getItems, type ListOrder, type ListQuery } from '../../api/calls.ts'
import { isAborted } from '../../api/client.ts'
import type { Change, ContainerName, Filter, ListedItem } from '../../api/shapes.ts'
import { itemNowMs } from '../../time/clock.ts'

const pageSize = 100
/** Longer than it takes until a death is counted and told. */
const dyingMs = 2000
/** As many as the server sends at once. */
const largePageSize = 1000
/** More rows are not kept. */
export const rowsMax = 10_000
/** Pages that found nothing, one after the other, before the list waits for somebody to ask again. */
const emptyPagesMax = 20

export interface ListState {
  filter: Filter
  order: ListOrder
  query: string
  from?: number
  to?: number
  columns: string
}

/** Orders as the server does: soonest deadline first, never last. */
export function comparesSooner(a: Pick<ListedItem, 'deadline'>, b: Pick<ListedItem, 'deadline'>): number {
  return (a.deadline ?? Number.POSITIVE_INFINITY) - (b.deadline ?? Number.POSITIVE_INFINITY) || 0
}

/** Where an item belongs in rows that are ordered by deadline: after those that die at the same time. */
export function placeOf(rows: readonly Pick<ListedItem, 'deadline'>[], item: Pick<ListedItem, 'deadline'>): number {
  let low = 0
  let high = rows.length
  while (low < high) {
    const middle = (low + high) >>> 1
    if (comparesSooner(rows[middle]!, item) <= 0) low = middle + 1
    else high = middle
  }
  return low
}

export class ItemList {
  readonly rows = signal<readonly ListedItem[]>([])
  /** The index of the first row in the whole list; above 0 after a jump. */
  readonly startIndex = signal(0)
  readonly isLoading = signal(false)
  /** True until the first page of this state is there. */
  readonly isFirst = signal(true)
  /** Counts the states: each is a list of its own, and begins at its top. */
  readonly generation = signal(0)
  readonly error = signal<unknown>(undefined)
  readonly isAtEnd = signal(false)
  /** Many pages found nothing: the user must ask before the server looks further. */
  readonly isPaused = signal(false)
  /** Scrolling goes no further than this index. */
  readonly reach = signal(rowsMax)
  readonly isFull = computed(() => this.startIndex.value + this.rows.value.length >= this.reach.value)
  /** Rows that were created or moved above the rows in view: shown when the user asks for them. */
  readonly waiting = signal<ReadonlyMap<string, ListedItem>>(new Map())
  /** More changed than the page was told. */
  readonly isStale = signal(false)
  readonly newCount = computed(() => this.waiting.value.size)

  readonly #name: ContainerName
  #state: ListState
  #next: string | undefined
  /** Of the pages that are loaded: a jump has its own. */
  #from: number | undefined
  #abort = new AbortController()

  constructor(name: ContainerName, state: ListState) {
    this.#name = name
    this.#state = state
  }

  get state(): ListState {
    return this.#state
  }

  /** Begins anew; the old rows stay until the first page is there. */
  async load(
    state: ListState = this.#state,
    at: { startIndex: number; from?: number } = { startIndex: 0 },
  ): Promise<void> {
    this.#abort.abort()
    this.#abort = new AbortController()
    const isOther = state !== this.#state
    this.#state = state
    this.#next = undefined
    batch(() => {
      this.error.value = undefined
      this.isAtEnd.value = false
      this.isPaused.value = false
      this.isFirst.value ||= isOther
      if (isOther) this.generation.value++
      this.isLoading.value = false
    })
    this.#from = at.from ?? state.from
    await this.#loadPage({ isFirst: true, startIndex: at.startIndex, limit: pageSize })
  }

  /** The next page, if there is one and none is on its way. */
  async loadMore(limit = pageSize): Promise<void> {
    if (this.isLoading.peek() || this.isFirst.peek() || !this.#mayGrow()) return
    await this.#loadPage({ isFirst: false, limit })
  }

  /** Looks further after pages that found nothing. */
  async lookFurther(): Promise<void> {
    this.isPaused.value = false
    await this.loadMore()
  }

  /** The pages up to an index, one after the other; the reach is the end of them. */
  async loadUpTo(index: number): Promise<void> {
    const { signal: ended } = this.#abort
    while (!ended.aborted && !this.isLoading.peek() && this.#mayGrow()) {
      const missing = index + 1 - this.startIndex.peek() - this.rows.peek().length
      if (missing <= 0) return
      await this.loadMore(Math.max(pageSize, Math.min(largePageSize, missing)))
    }
  }

  #mayGrow(): boolean {
    return !(this.isAtEnd.peek() || this.isPaused.peek() || this.isFull.peek() || this.error.peek() !== undefined)
  }

  dispose(): void {
    this.#abort.abort()
  }

  async #loadPage(
    page: { limit: number } & ({ isFirst: false } | { isFirst: true; startIndex: number }),
  ): Promise<void> {
    const { signal: ended } = this.#abort
    this.isLoading.value = true
    try {
      let found: ListedItem[] = []
      for (let emptyPages = 0; found.length === 0 && emptyPages < emptyPagesMax; emptyPages++) {
        const answer = await getItems(this.#name, this.#request(page.limit), ended)
        found = answer.items
        this.#next = answer.next
        if (!answer.next) break
      }
      batch(() => {
        const known = new Set(page.isFirst ? [] : this.rows.peek().map(({ key }) => key))
        const fresh = found.filter(({ key }) => !known.has(key))
        if (page.isFirst) {
          this.startIndex.value = page.startIndex
          this.waiting.value = new Map()
          this.isStale.value = false
        }
        const grown = page.isFirst ? fresh : [...this.rows.peek(), ...fresh]
        const dropped = Math.max(0, grown.length - rowsMax)
        this.rows.value = grown.slice(dropped)
        this.startIndex.value += dropped
        this.isAtEnd.value = this.#next === undefined
        this.isPaused.value = found.length === 0 && this.#next !== undefined
        this.isFirst.value = false
        this.isLoading.value = false
      })
    } catch (error) {
      if (isAborted(error)) return
      batch(() => {
        this.error.value = error
        this.isLoading.value = false
        this.isFirst.value = false
        if (page.isFirst) this.rows.value = []
      })
    }
  }

  #request(limit: number): ListQuery {
    const from = this.#from
    const { filter, order, query, to, columns } = this.#state
    return {
      filter,
      order: filter === 'dead' ? 'soonest' : order,
      query,
      limit,
      columns,
      ...(from !== undefined && { from }),
      ...(to !== undefined && { to }),
      ...(this.#next !== undefined && { after: this.#next }),
    }
  }

  /** Items that came within the minute since the last page: they follow the rows there are. */
  async appendUntil(from: number, to: number): Promise<void> {
    try {
      const { query, columns } = this.#state
      const { items } = await getItems(
        this.#name,
        { filter: 'all', order: 'soonest', query, columns, from, to, limit: pageSize },
        this.#abort.signal,
      )
      const known = new Set(this.rows.peek().map(({ key }) => key))
      const fresh = items.filter(({ key, isDead }) => !isDead && !known.has(key))
      if (fresh.length === 0) return
      if (this.#state.order === 'soonest') this.rows.value = [...this.rows.peek(), ...fresh]
      else this.isStale.value = true
    } catch {
      // The next second asks again.
    }
  }

  /**
   * Whether somebody must have deleted one of these rows, which no event tells: all rows are here, and more
   * of them than the server counts. Those that are dying now may be counted already.
   */
  hasMoreThan(living: number): boolean {
    const { from, to } = this.#state
    if (!this.isAtEnd.peek() || this.startIndex.peek() > 0 || from !== undefined || to !== undefined) return false
    const soonMs = itemNowMs() + dyingMs
    const lasting = this.rows.peek().filter(({ deadline }) => deadline === null || deadline * 1000 > soonMs)
    return lasting.length > living
  }

  remove(keys: ReadonlySet<string>): void {
    const rest = this.rows.peek().filter(({ key }) => !keys.has(key))
    if (rest.length < this.rows.peek().length) this.rows.value = rest
    if ([...keys].some(key => this.waiting.peek().has(key))) {
      this.waiting.value = new Map([...this.waiting.peek()].filter(([key]) => !keys.has(key)))
    }
  }

  /** Puts a changed or new item where it belongs; `topIndex` is the first row in view. */
  put(item: ListedItem, topIndex: number): void {
    const rows = this.rows.peek()
    const at = rows.findIndex(({ key }) => key === item.key)
    if (this.#state.order !== 'soonest') {
      if (at !== -1) this.rows.value = rows.with(at, item)
      else this.isStale.value = true
      return
    }
    if (at !== -1 && rows[at]!.deadline === item.deadline) {
      this.rows.value = rows.with(at, item)
      return
    }
    const others = at === -1 ? rows : rows.toSpliced(at, 1)
    const place = placeOf(others, item)
    // Beyond the last page: the page that has it will come.
    const isBeyond = place === others.length && !this.isAtEnd.peek()
    const isAbove = this.startIndex.peek() > 0 ? place === 0 : at === -1 && topIndex > 0 && place < topIndex
    batch(() => {
      if (isBeyond || isAbove) this.rows.value = others
      else this.rows.value = others.toSpliced(place, 0, item)
      if (isAbove) this.waiting.value = new Map(this.waiting.peek()).set(item.key, item)
    })
  }

  /** A change of the live connection, as the row it makes. */
  static rowOf(change: Change, etag: string): ListedItem {
    const { key, id, partitionKey, ttl, rule, ts, deadline, bytes, values = {} } = change
    return { key, id, partitionKey, ttl, rule, ts, deadline, bytes, values, isDead: false, etag }
  }
}
