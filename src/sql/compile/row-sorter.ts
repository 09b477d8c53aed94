/** Bounded sorting: keeps the first `rowsMax` rows of an order. */

import { spend } from '../../base/work.ts'
import { compareValues } from '../values/compare.ts'
import type { SelectMemory } from '../values/run-context.ts'
import type { SqlValue } from '../values/value.ts'
import type { OrderKey } from './compiled.ts'

export interface SortedRow {
  readonly keys: readonly SqlValue[]
  readonly row: SqlValue
  readonly bytes: number
}

export type RowOrder = (left: readonly SqlValue[], right: readonly SqlValue[]) => number

/** Compares rows by their keys, each in its direction. Rows with equal keys keep their arrival order. */
export function rowOrder(orderKeys: readonly Pick<OrderKey, 'isDescending'>[]): RowOrder {
  const signs = orderKeys.map(key => (key.isDescending ? -1 : 1))
  return (left, right) => {
    spend(2)
    for (let index = 0; index < signs.length; index += 1) {
      const order = compareValues(left[index], right[index])
      if (order !== 0) return order * (signs[index] as number)
    }
    return 0
  }
}

export class RowSorter {
  readonly #compare: RowOrder
  readonly #rowsMax: number
  readonly #memory: SelectMemory
  #rows: SortedRow[] = []

  constructor(orderKeys: readonly OrderKey[], rowsMax: number, memory: SelectMemory) {
    this.#compare = rowOrder(orderKeys)
    this.#rowsMax = rowsMax
    this.#memory = memory
  }

  add(keys: readonly SqlValue[], row: SqlValue): void {
    const bytes = this.#memory.chargeValue(row) + this.#memory.chargeValue(keys)
    this.#rows.push({ keys, row, bytes })
    // Cutting at twice the size makes the cost of sorting per row constant, without a heap.
    if (this.#rows.length >= 2 * this.#rowsMax + 64) this.#cut()
  }

  rows(): readonly SortedRow[] {
    this.#cut()
    return this.#rows
  }

  #cut(): void {
    this.#rows.sort((left, right) => this.#compare(left.keys, right.keys))
    for (const { bytes } of this.#rows.slice(this.#rowsMax)) this.#memory.release(bytes)
    this.#rows.length = Math.min(this.#rows.length, this.#rowsMax)
  }
}
