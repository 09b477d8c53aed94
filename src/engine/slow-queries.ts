/** Says which pages of queries took long, what they cost, and which index they used or would have needed. */

import type { Logger } from '../base/log.ts'
import { type IndexPath, printIndexPath } from '../document/index-definition.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemQuery, QueriedPage } from './query.ts'

/** The text of a query may be 256 KB long. */
const shownCharsMax = 1000

export interface SlowPage {
  readonly container: ContainerRecord
  readonly query: ItemQuery
  readonly page: QueriedPage
  readonly chargeRu: number
  readonly ms: number
}

/** Values are not logged: SQL with its parameters' names only, of a Mongo query no more than its kind. */
export function logSlowPage(log: Logger, { container, query, page, chargeRu, ms }: SlowPage): void {
  const { used, wished } = page.indexUse
  const { itemsRead, rowsOut } = page.statistics
  const statement = query.statement?.()
  const text = statement?.language === 'sql' ? statement.text.slice(0, shownCharsMax) : statement?.query.kind
  const details = {
    container: `${container.database.id}/${container.id}`,
    ms: Math.round(ms),
    chargeRu,
    itemsRead,
    rows: rowsOut,
    plan: used.length > 0 ? `index ${print(used)}` : 'scan',
    ...(wished.length > 0 && { indexWished: print(wished) }),
    ...(text !== undefined && { query: text }),
  }
  log.warn(details, 'a page of a query was slow')
}

function print(paths: readonly IndexPath[]): string {
  return paths.map(printIndexPath).join(', ')
}
