/**
 * The consequences of a write besides the stored item: index entries, the log, and findings about indexes.
 */

import type { ContainerRecord } from '../../store/catalog.ts'
import type { Living } from '../../store/policy.ts'
import { livingAt } from '../../ttl/living.ts'
import { dropKnown, type IndexFindings, isNothing, noFindings } from '../index-findings.ts'
import type { OpenContainer } from './catalog.ts'
import type { DoubtedHolders } from './entries.ts'
import type { Consequences } from './items.ts'
import type { StoreParts } from './parts.ts'

/** Writes to a container without indexes and log have no consequences. */
export const noConsequences: Consequences = { updateEntries: () => true, log: undefined }

export class WriteConsequences {
  readonly #parts: StoreParts

  constructor(parts: StoreParts) {
    this.#parts = parts
  }

  /** Runs a write with its consequences, and stores what was learned about the indexes. */
  within<T>(open: OpenContainer, living: Living, work: (consequences: Consequences) => T): T {
    const { indexes, logSeconds, number } = open.record
    if (indexes.length === 0 && logSeconds === null) return work(noConsequences)
    const { turns, log } = this.#parts
    const findings = noFindings()
    const doubted = turns.isInDoubt ? this.#doubtedHolders(open.record) : undefined
    const result = work({
      updateEntries: change => indexes.length === 0 || open.entries.change(indexes, change, living, findings, doubted),
      log: logSeconds === null ? undefined : entry => log.append(number, entry),
    })
    if (logSeconds !== null) turns.join(log)
    this.storeFindings(open, findings)
    return result
  }

  /** Stores the findings that the index records do not have yet. */
  storeFindings(open: OpenContainer, findings: IndexFindings): void {
    dropKnown(findings, open.record.indexes)
    if (isNothing(findings)) return
    const { turns, catalog } = this.#parts
    turns.join(catalog)
    catalog.storeFindings(open, findings)
  }

  /** For items that are dead by item time, but alive by sure time. */
  #doubtedHolders({ policy }: ContainerRecord): DoubtedHolders {
    const sure = this.#parts.clock.sure()
    return { sure, living: livingAt(policy, sure) }
  }
}
