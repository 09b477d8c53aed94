/**
 * The views that are open, so that sweeps leave what they show.
 *
 * A page that takes several statements is judged by one view. Without this, an item that dies and is swept between two of them
 * would be missing from a page whose moment it was alive at. Gateways do not know of each other's views.
 */

import { livingAt } from '../../ttl/living.ts'
import type { Living, View, Viewpoint } from '../port.ts'

export class Views {
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

  /** What is dead in every view may be swept; undefined when there is none. */
  heldBack(container: number): Living | undefined {
    const all = [...(this.#open.get(container) ?? [])]
    if (all.length === 0) return undefined
    return {
      inheritedAfter: Math.min(...all.map(({ inheritedAfter }) => inheritedAfter)),
      ownAfter: Math.min(...all.map(({ ownAfter }) => ownAfter)),
    }
  }

  #close(container: number, living: Living): void {
    const open = this.#open.get(container)
    open?.delete(living)
    if (open?.size === 0) this.#open.delete(container)
  }
}
