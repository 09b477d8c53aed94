/** Keeps the first `rowsMax` rows in sort key order. */

import { RequestError } from '../base/error.ts'
import { queryMemoryBytesMax } from '../base/limits.ts'
import type { MemoryLease } from '../base/memory-account.ts'
import { spend } from '../base/work.ts'
import type { Program } from './program.ts'
import type { RowOrigin } from './row-origins.ts'
import { identityOf } from './sort-key.ts'

export interface KeyedRow {
  readonly sortKey: Uint8Array
  /** For programs that prefer the order of arrival. */
  readonly arrival: number
  readonly value: unknown
  readonly bytes: number
  readonly origin?: RowOrigin | undefined
}

export class TopRows {
  readonly #rowsMax: number
  readonly #distinct: Program['distinct']
  readonly #lease: MemoryLease | undefined
  #rows: KeyedRow[] = []
  #arrivals = 0
  #bytes = 0
  #cutAt = 64

  /** The rows that are kept are counted on the lease. */
  constructor(rowsMax: number, distinct: Program['distinct'], lease?: MemoryLease) {
    this.#lease = lease
    this.#rowsMax = rowsMax
    this.#distinct = distinct
  }

  add(sortKey: Uint8Array, value: unknown, bytes: number, origin?: RowOrigin): void {
    this.#rows.push({ sortKey, value, bytes, arrival: this.#arrivals++, origin })
    this.#bytes += bytes
    this.#lease?.add(bytes)
    if (this.#rows.length >= this.#cutAt || this.#bytes > queryMemoryBytesMax) this.#settle()
  }

  /** In sort key order. */
  rows(): readonly KeyedRow[] {
    this.#settle()
    return this.#rows
  }

  /** Sorts the rows, removes duplicates, and keeps the first ones. */
  #settle(): void {
    const sorted = this.#rows.toSorted((left, right) => {
      spend(2)
      return Buffer.compare(left.sortKey, right.sortKey)
    })
    this.#rows = this.#withoutDuplicates(sorted).slice(0, this.#rowsMax)
    // Cutting at twice the size sorts each row only a few times, without a heap.
    this.#cutAt = 2 * this.#rows.length + 64
    const before = this.#bytes
    this.#bytes = this.#rows.reduce((sum, { bytes }) => sum + bytes, 0)
    this.#lease?.release(before - this.#bytes)
    if (this.#bytes > queryMemoryBytesMax) {
      throw new RequestError(
        'malformed',
        `Sorting or removing duplicates needs more than ${queryMemoryBytesMax} bytes of memory. Narrow the ` +
          'filter, select less, or ask for fewer rows.',
      )
    }
  }

  #withoutDuplicates(sorted: KeyedRow[]): KeyedRow[] {
    if (this.#distinct === undefined) return sorted
    if (this.#distinct === 'sortKey') {
      return sorted.filter(
        ({ sortKey }, index) => index === 0 || Buffer.compare(sorted[index - 1]!.sortKey, sortKey) !== 0,
      )
    }
    const seen = new Set<string>()
    return sorted.filter(({ sortKey }) => {
      spend(4)
      const identity = identityOf(sortKey)
      const isNew = !seen.has(identity)
      seen.add(identity)
      return isNew
    })
  }
}
