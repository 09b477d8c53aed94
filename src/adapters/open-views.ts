/**
 * The open views of this process: sweeps do not remove the items that these show.
 *
 * A page that takes several steps is judged by one view. Without this, an item that dies and is swept
 * between two steps would be missing from a page at whose moment it was alive.
 */

import type { Living, View, Viewpoint } from '../store/policy.ts'
import { livingAt } from '../ttl/living.ts'

export class OpenViews {
  /** By container number. */
  readonly #open = new Map<number, Set<Living>>()

  /** The view is closed by disposing of it. */
  open<Seen extends Viewpoint>(container: number, seen: Seen): Seen & View {
    const living = livingAt(seen.policy, seen.moment)
    let open = this.#open.get(container)
    if (open === undefined) {
      open = new Set()
      this.#open.set(container, open)
    }
    open.add(living)
    return { ...seen, [Symbol.dispose]: () => this.#close(container, living) }
  }

  /** Lowers the thresholds so far that an item may be swept only if it is dead in every open view. */
  holdBack(container: number, { inheritedAfter, ownAfter }: Living): Living {
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
