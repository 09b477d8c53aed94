/**
 * Builds indexes from ranges that another thread has sorted, while writes go on.
 *
 * Every write keeps up the entries of its item from the moment the index is begun. So of a sorted range only
 * what nobody has written since it was asked for may be brought in: the thread may have seen an older body.
 * Items that were written meanwhile are left out, and entered at the end from their present bodies, because a
 * write that was taken back has kept up nothing. How far the index is built is stored with the last step of a
 * range. A crash before that means doing the range again; what is there already is right, and ignored.
 */

import { indexBuildRowsMax } from '../../base/limits.ts'
import type { IndexDefinition } from '../../document/index-definition.ts'
import { addFindings, type IndexFindings } from '../index-findings.ts'
import type { OpenContainer } from './catalog.ts'
import type { ContainerEntries } from './entries.ts'
import type { SortEntries, SortedEntries } from './sorted-entries.ts'

/** Below this many items an index is built item by item: that is done before another thread has begun. */
export const indexSortRowsMin = 2000

/** Sorted entries that one step of a build brings in: under a millisecond, because neighbours share pages. */
export const indexBuildEntriesMax = 500

/** What a step did; it counts when the transaction it was part of is stored. */
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
  /** The thread failed: the next step of any index does without it and still gets somewhere. */
  #hasFailed = false

  constructor(sort: SortEntries) {
    this.#sort = sort
  }

  /**
   * Waits for the next range, asking for it if nobody has and sorting is worth it; undefined when a step can
   * be taken.
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
   * The range that is being brought into the index. Another index under its number has another definition.
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
        this.#hasFailed = true
      }
      const isUseless = build.range === undefined && this.#builds.get(nameOf(container, index)) === build
      if (isUseless) this.end(container, index)
    }
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
