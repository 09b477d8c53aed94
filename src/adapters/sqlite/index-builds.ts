/**
 * Builds indexes step by step, and drops them. A step inserts entries that another thread has sorted, or
 * makes entries item by item.
 */

import type { ContainerRecord } from '../../store/catalog.ts'
import { noFindings } from '../index-findings.ts'
import type { WriteConsequences } from './consequences.ts'
import { changeCatalog, type StoreParts } from './parts.ts'
import { SortedBuilds } from './sorted-build.ts'
import type { SortEntries } from './sorted-entries.ts'

export class IndexBuilds {
  readonly #parts: StoreParts
  readonly #consequences: WriteConsequences
  readonly #sorted: SortedBuilds | undefined

  /** Without `sort`, indexes are built item by item. */
  constructor(parts: StoreParts, consequences: WriteConsequences, sort: SortEntries | undefined) {
    this.#parts = parts
    this.#consequences = consequences
    this.#sorted = sort && new SortedBuilds(sort)
  }

  async build(container: ContainerRecord, index: number, rowsMax: number): Promise<boolean> {
    const { catalog } = this.#parts
    const present = catalog.openContainer(container)
    const untilSorted = present && this.#sorted?.prepare(present, index, () => catalog.builtTo(container, index))
    if (untilSorted !== undefined) {
      await untilSorted
      // Nothing is inserted yet.
      return false
    }
    let settle: (() => void) | undefined
    const isReady = await changeCatalog(this.#parts, () =>
      catalog.buildIndex(container, index, (open, definition, builtTo) => {
        const findings = noFindings()
        const { entries } = open
        const step = this.#sorted?.rangeOf(open.record.number, definition)?.step(entries, findings)
        const reached = step === undefined ? entries.build(definition, builtTo, rowsMax, findings) : step.reached
        this.#consequences.storeFindings(open, findings)
        settle = step?.settle
        return reached
      }),
    )
    settle?.()
    if (isReady) this.#sorted?.end(container.number, index)
    return isReady
  }

  drop(container: ContainerRecord, index: number) {
    this.#sorted?.end(container.number, index)
    return changeCatalog(this.#parts, () => this.#parts.catalog.dropIndex(container, index))
  }
}
