/**
 * Executes one page of a query: reads items in bounded batches at one moment, runs the program over them,
 * and stops when the page is full.
 *
 * A page runs in slices of about `querySliceMsMax`; after each slice, other requests get a turn. A page in
 * source order also ends early when it has run for long and found little, because the client can continue
 * from there.
 */

import { machine } from '../base/clock.ts'
import { querySliceMsMax, scanItemsMax } from '../base/limits.ts'
import { leaseHere, type MemoryLease } from '../base/memory-account.ts'
import { nextSlice } from '../base/slices.ts'
import { lookAtWork, WorkTooLong } from '../base/work.ts'
import { type Body, documentOf } from '../document/body.ts'
import type { Viewpoint } from '../store/policy.ts'
import { Boundary, positionAfter, type SortKeyPosition } from './boundary.ts'
import { inOrderOfCreation } from './order-of-creation.ts'
import type { Program } from './program.ts'
import { addOrigin, originOf, type RowOrigin, type RowOrigins } from './row-origins.ts'
import type { ItemSource, SourceBatch, SourcePosition } from './source.ts'
import { type KeyedRow, TopRows } from './top-rows.ts'

/** A page in source order ends after this time, full or not. The service does so after five seconds. */
const queryPageMsMax = 2000

/** Where the next page continues. It is JSON and travels in continuation tokens. */
export interface PagePosition extends SortKeyPosition {
  /** Rows passed so far, including rows before the window. */
  readonly passed: number
  /** Source order: continue after this item. */
  readonly after?: SourcePosition
  /**
   * Source order: for items that are not finished, how many of their rows were returned already. New items
   * may come before them.
   */
  readonly within?: readonly (readonly [sequence: number, rows: number])[]
  /** Source order: a digest of the index definition that this position belongs to. Absent for key order. */
  readonly index?: string
  /** In source order: the order of ids was chosen (`choose-id-order.ts`). */
  readonly isById?: true
}

export interface PageRequest {
  readonly source: ItemSource
  readonly program: Program
  /** The moment of the page, and the container's policy. */
  readonly at: Viewpoint
  readonly position: PagePosition | undefined
  readonly rowsMax: number
  readonly bytesMax: number
  /** Whether the page says which items its rows come from (`Page.origins`). */
  readonly keepsOrigins?: boolean | undefined
  /** A page that needs more slices is given up with `WorkTooLong`, and then made elsewhere. */
  readonly slicesMax?: number | undefined
  /** Called after each slice. If the signal is aborted, the page ends early with the signal's reason. */
  readonly signal?: (() => AbortSignal) | undefined
}

export interface Page {
  /** JSON texts or BSON bytes, depending on the API. */
  readonly rows: readonly Body[]
  /** The memory that holds all rows and nothing else. It may be freed after the rows were copied. */
  readonly piece?: Uint8Array
  /** If asked for: the items of the rows (`row-origins.ts`). */
  readonly origins?: RowOrigins
  /** The rows were sorted here, and another page would sort everything again. */
  readonly isSorted?: true
  readonly next: PagePosition | undefined
  readonly version: number
  readonly statistics: PageStatistics
  /** The rows are void (`Program.hasLostOrder`). */
  readonly hasLostOrder?: true
}

export interface PageStatistics {
  readonly itemsRead: number
  readonly bytesRead: number
  readonly rowsOut: number
  readonly bytesOut: number
  readonly elapsedMs: number
}

/** If the work has a memory lease, the page counts the bytes that it holds on a lease of its own. */
export async function executePage(request: PageRequest): Promise<Page> {
  using lease = leaseHere('work')
  const page = new PageUnderWay(request, lease)
  return await (request.program.order === 'source' ? page.inSourceOrder() : page.inSortKeyOrder())
}

/** Memory of a row that is a value of the query language, as a multiple of the bytes of its item. */
const valueFactor = 4

/** Memory of a row as a multiple of its bytes: the row, and its copy in the answer. */
const rowFactor = 2

class PageUnderWay {
  readonly #request: PageRequest
  readonly #startMs = machine.monotonicMs()
  readonly #rows: Body[] = []
  /** The sequence numbers of the rows' items. */
  readonly #sequences: number[] = []
  readonly #origins: number[] = []
  #isSorted = false
  #sliceStartMs = this.#startMs
  #slices = 1
  #bytesOut = 0
  #itemsRead = 0
  #bytesRead = 0
  #version = 0

  readonly #lease: MemoryLease | undefined
  #batchBytes = 0

  constructor(request: PageRequest, lease: MemoryLease | undefined) {
    this.#request = request
    this.#lease = lease
  }

  async inSourceOrder(): Promise<Page> {
    const { source, program, at, position, rowsMax, bytesMax, keepsOrigins } = this.#request
    let passed = position?.passed ?? 0
    let after = position?.after
    const within = new Map(position?.within)
    let itemsMax = Math.min(firstBatch(rowsMax), program.end - passed)
    while (passed < program.end) {
      const batch = await source.read(after, at, itemsMax)
      itemsMax = nextBatch(itemsMax)
      this.#note(batch)
      for (const [index, item] of batch.items.entries()) {
        const skip = within.get(item.sequence) ?? 0
        let rowsOfItem = 0
        let isStopped = false
        const document = documentOf(item.body)
        program.accept({ sequence: item.sequence, document }, value => {
          if (rowsOfItem < skip) {
            rowsOfItem++
            return true
          }
          if (this.#rows.length >= rowsMax || this.#bytesOut >= bytesMax) {
            isStopped = true
            return false
          }
          rowsOfItem++
          if (passed++ >= program.first) {
            this.#take(value, document, item.body)
            this.#sequences.push(item.sequence)
            if (keepsOrigins === true) addOrigin(this.#origins, item)
          }
          return passed < program.end
        })
        if (isStopped) {
          within.set(item.sequence, rowsOfItem)
          const behind = index === 0 ? after : batch.positionOf(index - 1)
          return this.#end({ passed, ...(behind && { after: behind }), ...withinPosition(within) })
        }
        if (passed >= program.end || program.isDone?.() === true) return this.#endOfSource()
        within.delete(item.sequence)
        if (this.#isSliceOver()) await this.#turn()
      }
      if (batch.next === undefined) return this.#endOfSource()
      after = batch.next
      // After a part of a batch, read on even if the page is full. Otherwise the next page might be empty.
      const isFull = batch.isPart !== true && (this.#rows.length >= rowsMax || this.#bytesOut >= bytesMax)
      if (isFull || machine.monotonicMs() - this.#startMs > queryPageMsMax) {
        return this.#end({ passed, after, ...withinPosition(within) })
      }
      if (this.#isSliceOver()) await this.#turn()
    }
    return this.#end(undefined)
  }

  async inSortKeyOrder(): Promise<Page> {
    const { source, program, at, position, rowsMax, bytesMax, keepsOrigins } = this.#request
    const passedBefore = position?.passed ?? 0
    const boundary = Boundary.of(position)
    const toSkip = Math.max(0, program.first - passedBefore)
    const wanted = Math.min(toSkip + rowsMax, program.end - passedBefore)
    // One row more than the page holds tells whether there is another page. With identities, rows of earlier
    // pages must be kept to recognize their duplicates.
    const isRemembering = program.distinct === 'identity'
    const top = new TopRows(isRemembering ? Number.POSITIVE_INFINITY : wanted + 1, program.distinct, this.#lease)
    const undecided = new TopRows(Number.POSITIVE_INFINITY, program.distinct, this.#lease)
    let bytesOfItem = 0
    // With DISTINCT, a row stands for several items, so it has no origin. Neither has a row that is made
    // after the last item.
    const isTraced = keepsOrigins === true && program.distinct === undefined
    let originOfItem: RowOrigin | undefined
    let added = 0
    const emit = (value: unknown, sortKey: Uint8Array | undefined) => {
      const side = boundary === undefined || isRemembering ? 1 : boundary.compare(sortKey!)
      if (side < 0) return true
      const rows = side === 0 ? undecided : top
      const bytes = value instanceof Uint8Array ? bytesOfItem : valueFactor * bytesOfItem
      rows.add(sortKey!, value, bytes + sortKey!.length, originOfItem)
      if (rows === top) added++
      return true
    }
    // A source in sort key order is read from the last sort key on, and no further than the page needs.
    const isOrdered = source.positionBefore !== undefined && program.distinct === undefined
    this.#isSorted = !isOrdered
    let after = isOrdered && boundary?.isWhole === true ? source.positionBefore!(boundary.sortKey) : position?.after
    let itemsMax = isOrdered ? firstBatch(wanted) : scanItemsMax
    const isEnough = () => program.isDone?.() === true || (isOrdered && added > wanted)
    let isMore = !isEnough()
    while (isMore) {
      const batch = await source.read(after, at, itemsMax)
      itemsMax = nextBatch(itemsMax)
      this.#note(batch)
      for (const item of batch.items) {
        bytesOfItem = item.body.length
        if (isTraced) originOfItem = originOf(item)
        program.accept({ sequence: item.sequence, document: documentOf(item.body) }, emit)
        if (isEnough()) break
        if (this.#isSliceOver()) await this.#turn()
      }
      after = batch.next
      isMore = after !== undefined && !isEnough()
      if (isMore && this.#isSliceOver()) await this.#turn()
    }
    bytesOfItem = 0
    originOfItem = undefined
    program.finish(emit)

    const all = [...undecided.rows(), ...top.rows()]
    const found = boundary === undefined ? all : boundary.rest(all)
    if (program.prefersArrival && position === undefined && found.length <= wanted && this.#takeInArrival(found)) {
      return this.#end(undefined)
    }
    let passed = passedBefore
    for (const { value, origin } of found.slice(0, wanted)) {
      const isOut = passed >= program.first
      const given = passed - passedBefore
      if (isOut && this.#bytesOut >= bytesMax) return this.#end({ passed, ...positionAfter(found, given, boundary) })
      passed++
      if (isOut) this.#take(value, undefined, '')
      if (isOut && origin !== undefined) this.#origins.push(...origin)
      if (given + 1 === wanted && found.length > wanted && passed < program.end) {
        return this.#end({ passed, ...positionAfter(found, wanted, boundary) })
      }
    }
    return this.#end(undefined)
  }

  #endOfSource(): Page {
    const { program, position } = this.#request
    const page = this.#end(undefined)
    if (program.prefersCreation !== true || position !== undefined) return page
    const origins = page.origins as readonly number[] | undefined
    const pairs = origins && this.#sequences.map((_, at): RowOrigin => [origins[2 * at]!, origins[2 * at + 1]!])
    return {
      ...page,
      rows: inOrderOfCreation(this.#rows, this.#sequences),
      ...(pairs && { origins: inOrderOfCreation(pairs, this.#sequences).flat() }),
    }
  }

  /** Takes all rows of the window, in arrival order. Returns false if they do not fit on the page. */
  #takeInArrival(found: readonly KeyedRow[]): boolean {
    const { program, bytesMax } = this.#request
    for (const { value } of found.toSorted((a, b) => a.arrival - b.arrival).slice(program.first)) {
      this.#take(value, undefined, '')
      if (this.#bytesOut <= bytesMax) continue
      this.#rows.length = 0
      this.#bytesOut = 0
      return false
    }
    return true
  }

  /** A row that is the whole item is returned as it is stored. */
  #take(value: unknown, document: unknown, body: Body): void {
    const isItem = value === document && value !== undefined
    const row = isItem ? body : value instanceof Uint8Array ? value : JSON.stringify(value)
    this.#rows.push(row)
    this.#bytesOut += row.length
    this.#lease?.add(rowFactor * row.length)
  }

  #note({ version, items }: SourceBatch): void {
    this.#version = version
    this.#itemsRead += items.length
    const before = this.#batchBytes
    this.#batchBytes = 0
    for (const item of items) this.#batchBytes += item.body.length
    this.#bytesRead += this.#batchBytes
    this.#lease?.release(before)
    this.#lease?.add(this.#batchBytes)
  }

  #isSliceOver(): boolean {
    return machine.monotonicMs() - this.#sliceStartMs > querySliceMsMax
  }

  async #turn(): Promise<void> {
    if (++this.#slices > (this.#request.slicesMax ?? Number.POSITIVE_INFINITY)) throw new WorkTooLong()
    await nextSlice()
    this.#request.signal?.().throwIfAborted()
    lookAtWork()
    this.#sliceStartMs = machine.monotonicMs()
  }

  #end(next: PagePosition | undefined): Page {
    return {
      rows: this.#rows,
      next,
      version: this.#version,
      ...(this.#request.keepsOrigins === true && { origins: this.#origins }),
      ...(this.#isSorted && { isSorted: true }),
      ...(this.#request.program.hasLostOrder?.() === true && { hasLostOrder: true }),
      statistics: {
        itemsRead: this.#itemsRead,
        bytesRead: this.#bytesRead,
        rowsOut: this.#rows.length,
        bytesOut: this.#bytesOut,
        elapsedMs: machine.monotonicMs() - this.#startMs,
      },
    }
  }
}

/**
 * Entries of deleted items would stay for ever. So only the last few entries are kept, and the token stays
 * short.
 */
function withinPosition(within: ReadonlyMap<number, number>): Pick<PagePosition, 'within'> {
  return within.size === 0 ? {} : { within: [...within].slice(-4) }
}

/** If items come in the order of rows, a small page needs few. Larger batches follow if needed. */
function firstBatch(rows: number): number {
  return Math.min(scanItemsMax, rows + 1)
}

/** Doubles the batch up to the maximum. */
function nextBatch(itemsMax: number): number {
  return Math.min(scanItemsMax, 2 * itemsMax)
}
