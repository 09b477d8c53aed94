/**
 * What one connection watches: the deaths and the changes of a container.
 *
 * Deaths are found between the thresholds of two looks, so the cost of a look grows with the number of
 * deaths only. Changes are read from the feed after the last position. If there are more than a reader can
 * use, the rest is counted and skipped.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { Engine } from '../../engine/engine.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ChangePosition } from '../../store/reading.ts'
import { type FeedKind, readFeed } from '../items/changes.ts'
import type { Column } from '../items/rows.ts'
import { printKey } from '../service/tokens.ts'

const deathsMax = 200
const changesMax = 100

export interface WatchedEvents {
  readonly deaths: { readonly count: number; readonly keys: readonly string[]; readonly upTo: number } | undefined
  readonly changes: { readonly changes: readonly object[]; readonly skipped: number } | undefined
}

export class Watch {
  readonly database: string
  readonly id: string
  readonly #feed: FeedKind | 'none'
  /** The columns of a list of items. Without them, changes come with their texts. */
  readonly #columns: readonly Column[] | undefined
  #number: number
  #seenTo: EpochSeconds
  #position: ChangePosition | undefined
  #writes = -1

  private constructor(
    container: ContainerRecord,
    feed: FeedKind | 'none',
    columns: readonly Column[] | undefined,
    from: { moment: EpochSeconds; position: ChangePosition | undefined },
  ) {
    this.database = container.database.id
    this.id = container.id
    this.#feed = feed
    this.#columns = columns
    this.#number = container.number
    this.#seenTo = from.moment
    this.#position = from.position
  }

  static async begin(
    engine: Engine,
    container: ContainerRecord,
    feed: FeedKind | 'none',
    columns: readonly Column[] | undefined,
  ): Promise<Watch> {
    const position = await positionNow(engine, container, feed)
    return new Watch(container, feed, columns, { moment: await engine.moment(), position })
  }

  /** The container under the name; undefined if there is none now. */
  async container(engine: Engine): Promise<ContainerRecord | undefined> {
    return engine.catalog.findContainer(this.database, this.id)
  }

  async look(engine: Engine, container: ContainerRecord): Promise<WatchedEvents> {
    if (container.number !== this.#number) {
      // The name belongs to another container now.
      this.#number = container.number
      this.#position = await positionNow(engine, container, this.#feed)
      this.#seenTo = await engine.moment()
    }
    return { deaths: await this.#deaths(engine, container), changes: await this.#changes(engine, container) }
  }

  async #deaths(engine: Engine, container: ContainerRecord): Promise<WatchedEvents['deaths']> {
    const moment = await engine.moment()
    const from = this.#seenTo
    this.#seenTo = moment
    if (moment <= from) return undefined
    const { count, rows } = await engine.reports.diedBetween(container, from, moment, deathsMax)
    if (count === 0) return undefined
    return { count, keys: rows.map(({ key }) => printKey(key)), upTo: moment }
  }

  async #changes(engine: Engine, container: ContainerRecord): Promise<WatchedEvents['changes']> {
    if (this.#feed === 'none' || this.#position === undefined) return undefined
    const { writes } = await engine.reports.glance(container)
    if (writes === this.#writes) return undefined
    const page = await readFeed(engine, container, {
      mode: this.#feed,
      after: this.#position,
      itemsMax: changesMax,
      columns: this.#columns,
    })
    this.#position = page.position
    if (page.isEnd) {
      this.#writes = writes
      return page.changes.length === 0 ? undefined : { changes: page.changes, skipped: 0 }
    }
    this.#position = await positionNow(engine, container, this.#feed)
    // The number of skipped changes is estimated from versions: to know it, they would have to be read.
    const last = (page.changes.at(-1) as { lsn?: number } | undefined)?.lsn ?? writes
    return { changes: page.changes, skipped: Math.max(1, writes - last) }
  }
}

async function positionNow(
  engine: Engine,
  container: ContainerRecord,
  feed: FeedKind | 'none',
): Promise<ChangePosition | undefined> {
  if (feed === 'none') return undefined
  return feed === 'latest' ? engine.changesNow(container) : engine.logNow(container)
}

export function requireLog(container: ContainerRecord, feed: FeedKind | 'none'): void {
  if (feed === 'all' && container.logSeconds === null) {
    throw new RequestError('malformed', 'The container keeps no log, so there is no feed of all versions.')
  }
}
