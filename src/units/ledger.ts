/** Finds the budget that pays for a container: its own, or the one its database shares among its containers. */

import { CapacityError } from '../base/error.ts'
import { throughputDefault } from '../base/limits.ts'
import type { ContainerRecord, Throughput } from '../storage/port.ts'
import { Budget } from './budget.ts'

export class Ledger {
  readonly #isEnforced: boolean
  readonly #monotonicMs: (() => number) | undefined
  readonly #budgets = new Map<string, Budget>()

  /** Without enforcement charges are still reported, and nobody is ever refused. */
  constructor(options: { isEnforced: boolean; monotonicMs?: () => number }) {
    this.#isEnforced = options.isEnforced
    this.#monotonicMs = options.monotonicMs
  }

  get isEnforced(): boolean {
    return this.#isEnforced
  }

  /** Throws when the container's second is used up. */
  charge(container: ContainerRecord, chargeRu: number): void {
    if (!this.#isEnforced) return
    const waitMs = this.#budgetOf(container).take(chargeRu, rateOf(container))
    if (waitMs > 0) {
      throw new CapacityError(
        'throttled',
        'Request rate is large. More Request Units may be needed, so no changes were made. Please retry this request later.',
        waitMs,
      )
    }
  }

  /** What the purger may spend on this container now. */
  spareRu(container: ContainerRecord): number {
    return this.#isEnforced ? this.#budgetOf(container).spareRu(rateOf(container)) : Number.POSITIVE_INFINITY
  }

  spend(container: ContainerRecord, chargeRu: number): void {
    if (this.#isEnforced) this.#budgetOf(container).spend(chargeRu)
  }

  #budgetOf(container: ContainerRecord): Budget {
    const key =
      container.throughput === null ? `database ${container.database.number}` : `container ${container.number}`
    let budget = this.#budgets.get(key)
    if (budget === undefined) {
      budget = new Budget(this.#monotonicMs)
      this.#budgets.set(key, budget)
    }
    return budget
  }
}

function rateOf({ throughput, database }: ContainerRecord): number {
  return ruPerSecond(throughput ?? database.throughput) ?? throughputDefault
}

/** An autoscale rate counts with its maximum: scaling up to it is instant. */
export function ruPerSecond(throughput: Throughput | null): number | undefined {
  if (throughput === null) return undefined
  return throughput.kind === 'manual' ? throughput.ruPerSecond : throughput.maxRuPerSecond
}
