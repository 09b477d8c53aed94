/** The first rows by place, and no more of them than are asked for. */

import { RequestError } from '../base/error.ts'
import { queryMemoryBytesMax } from '../base/limits.ts'
import { identityOf } from './place.ts'
import type { Program } from './program.ts'

export interface PlacedRow {
  readonly place: Uint8Array
  /** The how manieth it was to come. */
  readonly arrival: number
  readonly value: unknown
  readonly bytes: number
}

export class TopRows {
  readonly #rowsMax: number
  readonly #distinct: Program['distinct']
  #rows: PlacedRow[] = []
  #arrivals = 0
  #bytes = 0
  #cutAt = 64

  constructor(rowsMax: number, distinct: Program['distinct']) {
    this.#rowsMax = rowsMax
    this.#distinct = distinct
  }

  add(place: Uint8Array, value: unknown, bytes: number): void {
    this.#rows.push({ place, value, bytes, arrival: this.#arrivals++ })
    this.#bytes += bytes
    if (this.#rows.length >= this.#cutAt || this.#bytes > queryMemoryBytesMax) this.#cut()
  }

  /** By place. */
  rows(): readonly PlacedRow[] {
    this.#cut()
    return this.#rows
  }

  #cut(): void {
    const sorted = this.#rows.toSorted((left, right) => Buffer.compare(left.place, right.place))
    this.#rows = this.#withoutDuplicates(sorted).slice(0, this.#rowsMax)
    // Cutting at twice the size makes the cost of sorting per row constant, without a heap.
    this.#cutAt = 2 * this.#rows.length + 64
    this.#bytes = this.#rows.reduce((sum, { bytes }) => sum + bytes, 0)
    if (this.#bytes > queryMemoryBytesMax) {
      throw new RequestError(
        'malformed',
        `Sorting or removing duplicates needs more than ${queryMemoryBytesMax} bytes of memory. Narrow the filter, select less, or ask for fewer rows.`,
      )
    }
  }

  #withoutDuplicates(sorted: PlacedRow[]): PlacedRow[] {
    if (this.#distinct === undefined) return sorted
    if (this.#distinct === 'place') {
      return sorted.filter(({ place }, index) => index === 0 || Buffer.compare(sorted[index - 1]!.place, place) !== 0)
    }
    const seen = new Set<string>()
    return sorted.filter(({ place }) => {
      const identity = identityOf(place)
      return !seen.has(identity) && seen.add(identity) !== undefined
    })
  }
}
