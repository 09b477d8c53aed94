/**
 * Builds an index from ranges that another thread has sorted, while writes go on.
 *
 * Every write keeps up the entries of its item from the moment the index is begun. So of a sorted range only what nobody has
 * written since it was asked for may be brought in: the thread may have seen an older body. Items that were written meanwhile
 * are left out, and entered at the end from their present bodies, because a write that was taken back has kept up nothing.
 * How far the index is built is stored with the last step of a range. A crash before that means doing the range again;
 * what is there already is right, and ignored.
 */

import { indexBuildEntriesMax, indexBuildRowsMax, indexSortRowsMin } from '../../base/limits.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import type { OpenContainer } from './catalog.ts'
import type { ContainerEntries } from './entries.ts'
import { addFindings, type IndexFindings } from './index-findings.ts'
import type { SortEntries, SortedEntries } from './sorted-entries.ts'

/** What a step did; it counts when the transaction it was part of is stored. */
interface Step {
  /** How far the index is built now; undefined when it is complete. */
  readonly reached: number | undefined
  readonly settle: () => void
}

export class SortedBuild {
  readonly #sort: SortEntries
  /** One index is built at a time. */
  #range: SortedRange | undefined
  #watched: ContainerEntries | undefined
  #isSorting = false
  #hasFailed = false

  constructor(sort: SortEntries) {
    this.#sort = sort
  }

  /** Asks for the next range, if there is none and sorting is worth it; undefined when a step can be taken. */
  prepare({ record, items, entries }: OpenContainer, index: number, builtTo: () => number): Promise<void> | undefined {
    const found = record.indexes.find(({ definition }) => definition.number === index)
    if (found === undefined || found.isReady || items.rows < indexSortRowsMin) return undefined
    if (this.#isSorting || this.rangeOf(found.definition) !== undefined) return undefined
    // Without the thread the next step still gets somewhere; the one after it tries again.
    const hasFailed = this.#hasFailed
    this.#hasFailed = false
    return hasFailed ? undefined : this.#ask(found.definition, entries, record.number, builtTo())
  }

  /** The range that is being brought into the index. Another index under its number has another definition. */
  rangeOf(definition: IndexDefinition): SortedRange | undefined {
    return this.#range?.definition === definition && !this.#range.isOver ? this.#range : undefined
  }

  /** The index is ready, or gone. */
  end(): void {
    this.#watched?.unwatch()
    this.#range = undefined
  }

  async #ask(
    definition: IndexDefinition,
    entries: ContainerEntries,
    container: number,
    builtTo: number,
  ): Promise<void> {
    this.end()
    this.#isSorting = true
    this.#watched = entries
    const touched = entries.watch()
    try {
      const sorted = await this.#sort({ container, index: definition.number, builtTo })
      if (sorted !== undefined) this.#range = new SortedRange(definition, sorted, touched, builtTo)
    } catch {
      this.#hasFailed = true
    } finally {
      this.#isSorting = false
    }
  }
}

class SortedRange {
  readonly definition: IndexDefinition
  readonly #sorted: SortedEntries
  readonly #touched: ReadonlySet<number>
  readonly #builtTo: number
  #entered = 0
  #leftOut: readonly number[] = []
  isOver = false

  constructor(
    definition: IndexDefinition,
    sorted: SortedEntries,
    /** Items that were written since the range was asked for; it grows. */
    touched: ReadonlySet<number>,
    builtTo: number,
  ) {
    this.definition = definition
    this.#sorted = sorted
    this.#touched = touched
    this.#builtTo = builtTo
  }

  /** Brings in a part of it, inside the writer's transaction. */
  step(entries: ContainerEntries, findings: IndexFindings): Step {
    const { number } = this.definition
    const { ends, reached } = this.#sorted
    addFindings(findings, this.#sorted.findings)
    const entered = Math.min(ends.length, this.#entered + indexBuildEntriesMax)
    let leftOut = this.#leftOut
    if (entered > this.#entered) {
      const more = entries.enterSorted(number, this.#sorted, this.#entered, entered, this.#touched)
      leftOut = [...new Set([...leftOut, ...more])]
    } else {
      entries.enterItems(this.definition, leftOut.slice(0, indexBuildRowsMax), findings)
      leftOut = leftOut.slice(indexBuildRowsMax)
    }
    const isOver = entered === ends.length && leftOut.length === 0
    const settle = () => {
      this.#entered = entered
      this.#leftOut = leftOut
      this.isOver = isOver
    }
    return { reached: isOver ? reached : this.#builtTo, settle }
  }
}
