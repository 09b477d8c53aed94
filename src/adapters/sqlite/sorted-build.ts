/**
 * Builds indexes from entries that another thread has sorted, while writes go on.
 *
 * As soon as an index exists, every write updates the entries of its item. The thread may have read an older
 * body of that item. So the thread's entries of items that were written since the range was requested are
 * skipped. After the range, the entries of these items are made from their present bodies. Most of them
 * exist already, but a write that was rolled back took its entries with it. The last step of a range stores
 * how far the index is built. After a crash before that, the range is done again; existing entries are right
 * and stay.
 */

import { indexBuildRowsMax } from '../../base/limits.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import { addFindings, type IndexFindings } from '../index-findings.ts'
import type { OpenContainer } from './catalog.ts'
import type { ContainerEntries } from './entries.ts'
import type { SortEntries, SortedEntries } from './sorted-entries.ts'

/** With fewer items an index is built item by item: that takes less time than asking another thread. */
export const indexSortRowsMin = 2000

/** Sorted entries that one step inserts: less than a millisecond, because neighbours share pages. */
export const indexBuildEntriesMax = 500

/** The result of a step. Call `settle` when its transaction is committed. */
interface Step {
  /** How far the index is built now; undefined when it is complete. */
  readonly reached: number | undefined
  readonly settle: () => void
}

interface Build {
  readonly definition: IndexDefinition
  readonly stopWatching: () => void
  /** undefined while it is being sorted. */
  range?: SortedRange
  readonly sorting: Promise<void>
}

export class SortedBuilds {
  readonly #sort: SortEntries
  readonly #builds = new Map<string, Build>()
  /** The thread failed. The next step of any index works without it, so that building goes on. */
  #hasFailed = false

  constructor(sort: SortEntries) {
    this.#sort = sort
  }

  /**
   * Requests the next range, if sorting is worth it, and returns a promise of it. Returns undefined if there
   * is nothing to wait for: the range is here already, or the step must build item by item.
   */
  prepare({ record, items, entries }: OpenContainer, index: number, builtTo: () => number): Promise<void> | undefined {
    const found = record.indexes.find(({ definition }) => definition.number === index)
    if (found === undefined || found.isReady || items.rows < indexSortRowsMin) return undefined
    const begun = this.#builds.get(nameOf(record.number, index))
    if (begun?.definition === found.definition && begun.range?.isOver !== true) {
      return begun.range === undefined ? begun.sorting : undefined
    }
    const hasFailed = this.#hasFailed
    this.#hasFailed = false
    return hasFailed ? undefined : this.#begin(found.definition, entries, record.number, builtTo())
  }

  /**
   * The range whose entries are being inserted. The definition is compared, because an index that was
   * dropped and created again may have the same number. Records keep the same object while the index exists.
   */
  rangeOf(container: number, definition: IndexDefinition): SortedRange | undefined {
    const build = this.#builds.get(nameOf(container, definition.number))
    return build?.definition === definition && build.range?.isOver === false ? build.range : undefined
  }

  /** The index is ready, or gone. */
  end(container: number, index: number): void {
    this.#builds.get(nameOf(container, index))?.stopWatching()
    this.#builds.delete(nameOf(container, index))
  }

  #begin(definition: IndexDefinition, entries: ContainerEntries, container: number, builtTo: number): Promise<void> {
    const { number: index } = definition
    this.end(container, index)
    const { touched, stop } = entries.watch()
    const sort = async () => {
      try {
        const sorted = await this.#sort({ container, index, builtTo })
        if (sorted !== undefined) build.range = new SortedRange(definition, sorted, touched, builtTo)
      } catch {
        // `server/query-thread` has logged the error.
        this.#hasFailed = true
      }
      const hasNoRange = build.range === undefined && this.#builds.get(nameOf(container, index)) === build
      if (hasNoRange) this.end(container, index)
    }
    // `sort` starts in a microtask, when `build` is set.
    const build: Build = { definition, stopWatching: stop, sorting: Promise.resolve().then(sort) }
    this.#builds.set(nameOf(container, index), build)
    return build.sorting
  }
}

function nameOf(container: number, index: number): string {
  return `${container} ${index}`
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
    /** Items that were written since the range was requested; it grows. */
    touched: ReadonlySet<number>,
    builtTo: number,
  ) {
    this.definition = definition
    this.#sorted = sorted
    this.#touched = touched
    this.#builtTo = builtTo
  }

  /** Inserts a part of the entries, inside the writer's transaction. */
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
