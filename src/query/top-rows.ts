/** The first rows by place, and no more of them than are asked for. */

import { RequestError } from '../base/error.ts'
import { queryMemoryBytesMax } from '../base/limits.ts'

export interface PlacedRow {
  readonly place: Uint8Array
  readonly value: unknown
  readonly bytes: number
}

export class TopRows {
  readonly #rowsMax: number
  readonly #isDistinct: boolean
  #rows: (PlacedRow & { readonly arrival: number })[] = []
  #arrivals = 0
  #bytes = 0
  #isCut = false

  constructor(rowsMax: number, isDistinct: boolean) {
    this.#rowsMax = rowsMax
    this.#isDistinct = isDistinct
  }

  add(place: Uint8Array, value: unknown, bytes: number): void {
    this.#rows.push({ place, value, bytes, arrival: this.#arrivals++ })
    this.#bytes += bytes
    // Cutting at twice the size makes the cost of sorting per row constant, without a heap.
    if (this.#rows.length >= 2 * this.#rowsMax + 64 || this.#bytes > queryMemoryBytesMax) this.#cut()
  }

  /** By place; or in the order in which they came, if that is preferred and no row had to go. */
  rows({ prefersArrival }: { prefersArrival: boolean }): readonly PlacedRow[] {
    this.#cut()
    return prefersArrival && !this.#isCut ? this.#rows.toSorted((a, b) => a.arrival - b.arrival) : this.#rows
  }

  #cut(): void {
    const sorted = this.#rows.toSorted((left, right) => Buffer.compare(left.place, right.place))
    const kept = this.#isDistinct
      ? sorted.filter(({ place }, index) => index === 0 || Buffer.compare(sorted[index - 1]!.place, place) !== 0)
      : sorted
    this.#isCut ||= kept.length > this.#rowsMax
    this.#rows = kept.slice(0, this.#rowsMax)
    this.#bytes = this.#rows.reduce((sum, { bytes }) => sum + bytes, 0)
    if (this.#bytes > queryMemoryBytesMax) {
      throw new RequestError(
        'malformed',
        `Sorting or removing duplicates needs more than ${queryMemoryBytesMax} bytes of memory. Narrow the filter, select less, or ask for fewer rows.`,
      )
    }
  }
}
