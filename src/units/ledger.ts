/** Finds the budget that pays for a container: its own, or the one that its database's containers share. */

import { CapacityError } from '../base/error.ts'
import { throughputDefault } from '../base/limits.ts'
import type { ContainerRecord, Throughput } from '../store/catalog.ts'
import { Budget } from './budget.ts'
import { UsageRecord } from './usage.ts'

export class Ledger {
  readonly #isEnforced: boolean
  readonly #monotonicMs: (() => number) | undefined
  readonly #share: () => number
  /** What was used, second by second. */
  readonly usage = new UsageRecord()
  readonly #budgets = new Map<string, Budget>()

  /**
   * Without enforcement charges are still reported, but nothing is refused. `share` is this gateway's part of
   * every rate, when several gateways serve one store.
   */
  constructor(options: { isEnforced: boolean; monotonicMs?: () => number; share?: () => number }) {
    this.#isEnforced = options.isEnforced
    this.#monotonicMs = options.monotonicMs
    this.#share = options.share ?? (() => 1)
  }

  get isEnforced(): boolean {
    return this.#isEnforced
  }

  /** Throws when the budget of the current second is used up. */
  charge(container: ContainerRecord, chargeRu: number): void {
    const waitMs = this.#isEnforced ? this.#budgetOf(container).take(chargeRu, this.rateOf(container)) : 0
    if (waitMs === 0) {
      this.usage.request(container.number, chargeRu)
    } else {
      this.usage.throttled(container.number)
      throw new CapacityError(
        'throttled',
        'Request rate is large. More Request Units may be needed, so no changes were made. Please retry this ' +
          'request later.',
        waitMs,
      )
    }
  }

  /** What the purger may spend on this container now. */
  spareRu(container: ContainerRecord): number {
    return this.#isEnforced ? this.#budgetOf(container).spareRu(this.rateOf(container)) : Number.POSITIVE_INFINITY
  }

  /** Books what the purger used. Never refuses. */
  spend(container: ContainerRecord, chargeRu: number): void {
    if (this.#isEnforced) this.#budgetOf(container).spend(chargeRu)
  }

  /** This gateway's part of what is provisioned, in RU per second. */
  rateOf({ throughput, database }: ContainerRecord): number {
    return this.#share() * (ruPerSecond(throughput ?? database.throughput) ?? throughputDefault)
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

/** Autoscale counts with its maximum, because scaling up is instant. */
export function ruPerSecond(throughput: Throughput | null): number | undefined {
  if (throughput === null) return undefined
  return throughput.kind === 'manual' ? throughput.ruPerSecond : throughput.maxRuPerSecond
}
