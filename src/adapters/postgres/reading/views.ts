/**
 * Viewpoints of PostgreSQL: the moment and the policy that the items of an answer are judged by.
 *
 * They are read in a statement of their own, before the items. A cluster has one clock and one copy of the
 * policies, and its workers have neither, so no two workers judge by different seconds.
 *
 * A gateway does not know the views of other gateways: a sweep holds back only what its own views show.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import { type Living, noItemLives, type View, type Viewpoint } from '../../../store/policy.ts'
import { type PolicyColumns, toPolicy } from '../../catalog-rows.ts'
import { OpenViews } from '../../open-views.ts'
import type { Connections } from '../connection/connections.ts'
import { gone } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'

/** A viewpoint, and the settings of the log at that moment. */
export interface ContainerViewpoint extends Viewpoint {
  readonly logSeconds: number | null
  readonly logEpoch: number
}

interface ViewRow extends PolicyColumns {
  moment: EpochSeconds
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
  readonly #open = new OpenViews()

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  take(container: ContainerRecord): Promise<View & ContainerViewpoint> {
    let overtaken: (View & ContainerViewpoint) | undefined
    return this.#moments.inOrder(
      async () => {
        overtaken?.[Symbol.dispose]()
        overtaken = this.#open.open(container.number, await this.#read(container))
        return overtaken
      },
      ({ moment }) => moment,
    )
  }

  /** Does the work with the given viewpoint, or with a new view that is open meanwhile. */
  async from<T>(
    container: ContainerRecord,
    at: Viewpoint | undefined,
    work: (at: Viewpoint) => Promise<T>,
  ): Promise<T> {
    if (at !== undefined) return work(at)
    using view = await this.take(container)
    return await work(view)
  }

  /** Above these thresholds nothing may be swept, because an open view shows it. */
  holdBack(container: number): Living {
    return this.#open.holdBack(container, noItemLives)
  }

  async #read(container: ContainerRecord): Promise<ContainerViewpoint> {
    const [row] = await this.#connections.ask<ViewRow>(statement, [container.number])
    if (row === undefined) throw gone(container)
    return {
      moment: row.moment,
      policy: toPolicy(row),
      logSeconds: row.log_seconds,
      logEpoch: row.log_epoch,
    }
  }
}
