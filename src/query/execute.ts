/**
 * Executes one page of a query: reads items in bounded batches at one moment, runs the program over them, and stops when the
 * page is full.
 *
 * The event loop is never held for longer than a slice: whenever a slice's time is up, whoever waits gets a turn. A page
 * of a query in source order is also given back when it has read for long without finding much, since the client can go on
 * behind it.
 */

import { type EpochSeconds, machine } from '../base/clock.ts'
import { queryPageMsMax, querySliceMsMax, scanItemsMax } from '../base/limits.ts'
import type { Program } from './program.ts'
import type { Source, SourceBatch, SourcePosition } from './source.ts'
import { TopRows } from './top-rows.ts'

/** Where a result goes on. It is JSON and travels in continuation tokens. */
export interface PagePosition {
  /** Rows passed so far, the ones before the window included. */
  readonly passed: number
  /** In source order: behind this item. */
  readonly after?: SourcePosition
  /** In source order: the next item, if it is still this one, has so many of its rows behind it. */
  readonly within?: { readonly sequence: number; readonly rows: number }
  /** In the order of places: behind this one, in base64. */
  readonly place?: string
  /** In source order: the index whose order it is; without one it is the order of keys. */
  readonly index?: number
}

export interface PageRequest {
  readonly source: Source
  readonly program: Program
  /** The page's one moment. */
  readonly moment: EpochSeconds
  readonly position: PagePosition | undefined
  readonly rowsMax: number
  readonly bytesMax: number
}

export interface Page {
  /** JSON texts. */
  readonly rows: readonly string[]
  readonly next: PagePosition | undefined
  readonly version: number
  readonly statistics: PageStatistics
}

export interface PageStatistics {
  readonly itemsRead: number
  readonly bytesRead: number
  readonly rowsOut: number
  readonly bytesOut: number
  readonly elapsedMs: number
}

export async function executePage(request: PageRequest): Promise<Page> {
  const page = new PageUnderWay(request)
  return request.program.order === 'source' ? page.inSourceOrder() : page.inOrderOfPlaces()
}

class PageUnderWay {
  readonly #request: PageRequest
  readonly #startMs = machine.monotonicMs()
  readonly #rows: string[] = []
  #sliceStartMs = this.#startMs
  #bytesOut = 0
  #itemsRead = 0
  #bytesRead = 0
  #version = 0

  constructor(request: PageRequest) {
    this.#request = request
  }

  async inSourceOrder(): Promise<Page> {
    const { source, program, moment, position, rowsMax, bytesMax } = this.#request
    let passed = position?.passed ?? 0
    let behind = position?.after
    let within = position?.within
    let after = behind
    let itemsMax = firstBatch(rowsMax)
    while (passed < program.end) {
      const batch = await source.read(after, moment, itemsMax)
      itemsMax = scanItemsMax
      this.#note(batch)
      for (const { item, position: itemPosition } of batch.items) {
        const skip = within?.sequence === item.sequence ? within.rows : 0
        let rowsOfItem = 0
        let isStopped = false
        const document = JSON.parse(item.body)
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
          if (passed++ >= program.first) this.#take(value, document, item.body)
          return passed < program.end
        })
        if (isStopped) {
          return this.#end({
            passed,
            ...(behind && { after: behind }),
            within: { sequence: item.sequence, rows: rowsOfItem },
          })
        }
        if (passed >= program.end) return this.#end(undefined)
        within = undefined
        behind = itemPosition
        if (this.#isSliceOver()) await this.#turn()
      }
      if (batch.next === undefined) {
        this.#finishStream(passed)
        return this.#end(undefined)
      }
      after = batch.next
      behind = batch.next
      const isFull = this.#rows.length >= rowsMax || this.#bytesOut >= bytesMax
      if (isFull || machine.monotonicMs() - this.#startMs > queryPageMsMax) return this.#end({ passed, after })
    }
    return this.#end(undefined)
  }

  async inOrderOfPlaces(): Promise<Page> {
    const { source, program, moment, position, rowsMax, bytesMax } = this.#request
    const passedBefore = position?.passed ?? 0
    const behind = position?.place === undefined ? undefined : Buffer.from(position.place, 'base64')
    const toSkip = Math.max(0, program.first - passedBefore)
    const wanted = Math.min(toSkip + rowsMax, program.end - passedBefore)
    // One more than the page holds tells whether there is another page.
    const top = new TopRows(wanted + 1, program.isDistinct)
    let bytesOfItem = 0
    let added = 0
    const emit = (value: unknown, place: Uint8Array | undefined) => {
      if (behind !== undefined && Buffer.compare(place!, behind) <= 0) return true
      top.add(place!, value, bytesOfItem + place!.length)
      added++
      return true
    }
    // A source in the order of places is read from the last one on, and no further than the page needs.
    const isOrdered = source.positionBefore !== undefined && !program.isDistinct
    let after = isOrdered && behind !== undefined ? source.positionBefore!(behind) : undefined
    let itemsMax = isOrdered ? firstBatch(wanted) : scanItemsMax
    do {
      const batch = await source.read(after, moment, itemsMax)
      itemsMax = scanItemsMax
      this.#note(batch)
      for (const { item } of batch.items) {
        bytesOfItem = item.body.length
        program.accept({ sequence: item.sequence, document: JSON.parse(item.body) }, emit)
        if (isOrdered && added > wanted) break
        if (this.#isSliceOver()) await this.#turn()
      }
      after = isOrdered && added > wanted ? undefined : batch.next
    } while (after !== undefined)
    bytesOfItem = 0
    program.finish(emit)

    const found = top.rows({ prefersArrival: program.prefersArrival && position === undefined })
    let passed = passedBefore
    for (const { value, place } of found.slice(0, wanted)) {
      const isOut = passed >= program.first
      if (isOut && this.#bytesOut >= bytesMax)
        return this.#end(this.#placePosition(passed, found[passed - passedBefore - 1]!.place))
      passed++
      if (isOut) this.#take(value, undefined, '')
      if (passed - passedBefore === wanted && found.length > wanted && passed < program.end) {
        return this.#end(this.#placePosition(passed, place))
      }
    }
    return this.#end(undefined)
  }

  #placePosition(passed: number, place: Uint8Array): PagePosition {
    return { passed, place: Buffer.from(place).toString('base64') }
  }

  /** A query without items, such as SELECT 1, makes its rows at the end. */
  #finishStream(passedBefore: number): void {
    const { program } = this.#request
    let passed = passedBefore
    program.finish(value => {
      if (passed++ >= program.first && passed <= program.end) this.#take(value, undefined, '')
      return passed < program.end
    })
  }

  /** A row that is the item itself goes out as it is stored. */
  #take(value: unknown, document: unknown, body: string): void {
    const text = value === document && value !== undefined ? body : JSON.stringify(value)
    this.#rows.push(text)
    this.#bytesOut += text.length
  }

  #note({ version, items }: SourceBatch): void {
    this.#version = version
    this.#itemsRead += items.length
    for (const { item } of items) this.#bytesRead += item.body.length
  }

  #isSliceOver(): boolean {
    return machine.monotonicMs() - this.#sliceStartMs > querySliceMsMax
  }

  async #turn(): Promise<void> {
    await new Promise<void>(resolve => machine.setImmediate(resolve))
    this.#sliceStartMs = machine.monotonicMs()
  }

  #end(next: PagePosition | undefined): Page {
    return {
      rows: this.#rows,
      next,
      version: this.#version,
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

/** Where items come in the order of rows, a small page needs few; if they do not make enough rows, full batches follow. */
function firstBatch(rows: number): number {
  return Math.min(scanItemsMax, rows + 1)
}
