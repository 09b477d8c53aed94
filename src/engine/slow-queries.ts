/**
 * Logs pages of queries that took long, with their cost and the index that they used or would have needed.
 * Pages that failed are logged too: the slowest pages are those that a time limit ended.
 */

import { machine } from '../base/clock.ts'
import { MayflyError } from '../base/error.ts'
import type { Logger } from '../base/log.ts'
import { type IndexPath, printIndexPath } from '../document/index-definition.ts'
import { MongoError } from '../mql/errors/mongo-error.ts'
import type { PageStatistics } from '../query/execute.ts'
import type { HostedTask, StreamHost } from '../query/hosted-stream.ts'
import type { QueryStatement } from '../query/statement.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemQuery } from './item-query.ts'
import { type IndexUse, plannedIndexUse } from './query.ts'

/** The text of a query may be 256 KB long. */
const shownCharsMax = 1000

/** The facts about a finished page for the log. */
interface MadePage {
  readonly statistics: PageStatistics
  readonly chargeRu: number
  readonly indexUse?: IndexUse
}

export class SlowQueries {
  readonly #log: Logger
  readonly #limitMs: number

  constructor(log: Logger, limitMs: number) {
    this.#log = log
    this.#limitMs = limitMs
  }

  /** Logs the page if `make` takes long. `make` may return no page, if another way is better. */
  async watchPage<T extends MadePage | undefined>(
    container: ContainerRecord,
    query: ItemQuery,
    make: () => Promise<T>,
  ): Promise<T> {
    const startMs = machine.monotonicMs()
    let ended: { readonly page?: T; readonly error?: unknown } = {}
    try {
      const page = await make()
      ended = { page }
      return page
    } catch (error) {
      ended = { error }
      throw error
    } finally {
      const ms = machine.monotonicMs() - startMs
      if (ms >= this.#limitMs) this.#logPage(container, query, { ...ended, ms })
    }
  }

  /** The time from a call for results to its results counts as a page. The client's own time does not. */
  async watchPipeline(
    task: HostedTask,
    host: StreamHost,
    hold: (watching: StreamHost) => Promise<void>,
  ): Promise<void> {
    let startMs: number | undefined = machine.monotonicMs()
    const note = (failure: object) => {
      if (startMs === undefined) return
      const ms = machine.monotonicMs() - startMs
      startMs = undefined
      if (ms < this.#limitMs) return
      const { query } = task.statement as Extract<QueryStatement, { language: 'mql' }>
      const name =
        'namespace' in query ? { container: `${query.namespace.database}/${query.namespace.collection}` } : {}
      this.#write({ ...name, ms: Math.round(ms), query: query.kind, ...failure })
    }
    const watching: StreamHost = {
      open: find => host.open(find),
      next: stream => host.next(stream),
      close: stream => host.close(stream),
      give: async results => {
        note({})
        await host.give(results)
        startMs = machine.monotonicMs()
      },
    }
    try {
      await hold(watching)
      note({})
    } catch (error) {
      note(failureOf(error))
      throw error
    }
  }

  /**
   * Values are not logged: SQL is logged without the values of its parameters, a Mongo query by its kind
   * only.
   */
  #logPage(
    container: ContainerRecord,
    query: ItemQuery,
    ended: { readonly ms: number; readonly page?: MadePage | undefined; readonly error?: unknown },
  ): void {
    const { ms, page, error } = ended
    if (page === undefined && error === undefined) return
    const { used, wished } = page?.indexUse ?? plannedIndexUse(container, query)
    const statement = query.statement?.()
    const text = statement?.language === 'sql' ? statement.text.slice(0, shownCharsMax) : statement?.query.kind
    this.#write({
      container: `${container.database.id}/${container.id}`,
      ms: Math.round(ms),
      ...(page !== undefined && {
        chargeRu: page.chargeRu,
        itemsRead: page.statistics.itemsRead,
        rows: page.statistics.rowsOut,
      }),
      plan: used.length > 0 ? `index ${print(used)}` : 'scan',
      ...(wished.length > 0 && { indexWished: print(wished) }),
      ...(text !== undefined && { query: text }),
      ...(page === undefined && failureOf(error)),
    })
  }

  #write(details: object): void {
    this.#log.warn(details, 'a page of a query was slow')
  }
}

/** The kind of an error without its message, which may contain values. */
function failureOf(error: unknown): object {
  if (error instanceof MongoError) return { failed: error.codeName }
  return { failed: error instanceof MayflyError ? error.kind : String((error as Error | undefined)?.name) }
}

function print(paths: readonly IndexPath[]): string {
  return paths.map(printIndexPath).join(', ')
}
