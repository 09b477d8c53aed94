/**
 * Viewpoints: the moment and the policies that answers are judged by, and which of them are still looked
 * from.
 *
 * They are read in a statement of their own, before the items. A cluster has one clock and one copy of the
 * policies, and its workers have neither: so no two of them judge by different seconds.
 *
 * Sweeps leave what an open view shows. Without this, an item that dies and is swept between two statements
 * would be missing from a page whose moment it was alive at. Gateways do not know of each other's views.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { Living, View, Viewpoint } from '../../../store/policy.ts'
import { livingAt } from '../../../ttl/living.ts'
import type { Connections } from '../connection/connections.ts'
import { gone } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'

/** A viewpoint, and what the container says beside its policy. */
export interface ContainerViewpoint extends Viewpoint {
  readonly logSeconds: number | null
  readonly logEpoch: number
}

interface CircumstancesRow {
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  log_seconds: number | null
  log_epoch: number
}

const statement = {
  name: 'view',
  text: `
    SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, c.log_seconds, c.log_epoch
    FROM mayfly.containers c CROSS JOIN mayfly.clock k WHERE c.number = $1 AND k.one = 1`,
}

export class PostgresViews {
  readonly #connections: Connections
  readonly #moments: Moments
  /** By container number. */
  readonly #open = new Map<number, Set<Living>>()

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  take(container: ContainerRecord): Promise<View & ContainerViewpoint> {
    let overtaken: (View & ContainerViewpoint) | undefined
    return this.#moments.inOrder(
      async () => {
        overtaken?.[Symbol.dispose]()
        overtaken = this.#register(container.number, await this.#read(container))
        return overtaken
      },
      ({ moment }) => moment,
    )
  }

  /** Does the work with a viewpoint that is given, or else with a view that is open meanwhile. */
  async from<T>(
    container: ContainerRecord,
    at: Viewpoint | undefined,
    work: (at: Viewpoint) => Promise<T>,
  ): Promise<T> {
    if (at !== undefined) return work(at)
    using view = await this.take(container)
    return await work(view)
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

  async #read(container: ContainerRecord): Promise<ContainerViewpoint> {
    const [row] = await this.#connections.read<CircumstancesRow>(statement, [container.number])
    if (row === undefined) throw gone(container)
    return {
      moment: row.moment,
      policy: { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at },
      logSeconds: row.log_seconds,
      logEpoch: row.log_epoch,
    }
  }

  #register(container: number, seen: ContainerViewpoint): View & ContainerViewpoint {
    const living = livingAt(seen.policy, seen.moment)
    let open = this.#open.get(container)
    if (open === undefined) {
      open = new Set()
      this.#open.set(container, open)
    }
    open.add(living)
    return { ...seen, [Symbol.dispose]: () => this.#close(container, living) }
  }

  #close(container: number, living: Living): void {
    const open = this.#open.get(container)
    open?.delete(living)
    if (open?.size === 0) this.#open.delete(container)
  }
}
