/**
 * The views that are open, so that sweeps leave what they show.
 *
 * A page that takes several turns of the event loop is judged by one view. Without this, an item that dies
 * and is swept between two turns would be missing from a page whose moment it was alive at.
 */

import type { Living, View, Viewpoint } from '../../store/policy.ts'
import { livingAt } from '../../ttl/living.ts'

export class SqliteViews {
  /** By container number. */
  readonly #open = new Map<number, Set<Living>>()

  open(container: number, { moment, policy }: Viewpoint): View {
    const living = livingAt(policy, moment)
    let open = this.#open.get(container)
    if (open === undefined) {
      open = new Set()
      this.#open.set(container, open)
    }
    open.add(living)
    return { moment, policy, [Symbol.dispose]: () => this.#close(container, living) }
  }

  /** Of those who are dead now, only the ones that no view shows: an item must be dead in all of them. */
  heldBack(container: number, now: Living): Living {
    let { inheritedAfter, ownAfter } = now
    for (const living of this.#open.get(container) ?? []) {
      inheritedAfter = Math.min(inheritedAfter, living.inheritedAfter)
      ownAfter = Math.min(ownAfter, living.ownAfter)
    }
    return { inheritedAfter, ownAfter }
  }

  #close(container: number, living: Living): void {
    const open = this.#open.get(container)
    open?.delete(living)
    if (open?.size === 0) this.#open.delete(container)
  }
}
