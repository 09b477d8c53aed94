/** A query over the items of a container, as its language hands it to the engine. */

import type { EpochSeconds } from '../base/clock.ts'
import type { IndexPath } from '../document/index-definition.ts'
import type { Demands } from '../query/demands.ts'
import type { Program } from '../query/program.ts'
import type { IdOrder, QueryStatement } from '../query/statement.ts'
import type { ItemKey } from '../store/item.ts'
import type { ScanRange } from '../store/reading.ts'

export interface ItemQuery {
  readonly range: ScanRange
  readonly demands: Demands
  /**
   * Makes the program for the page's moment, the only time that it may use. With an order of ids, items come
   * in that order, and the program need not sort.
   */
  readonly program: (moment: EpochSeconds, idOrder?: IdOrder) => Program
  /** The query as plain data, for another thread. Undefined if it can only run in this thread. */
  readonly statement?: ((idOrder?: IdOrder) => QueryStatement) | undefined
  /** The query must run in another thread, because here nothing could stop its work. */
  readonly mustTravel?: boolean
  /** The only partition that has items which pass the filter, if there is one. */
  readonly partition?: Pick<ItemKey, 'epk' | 'pk'> | undefined
  /** The range follows from the filter: every item that passes the filter lies in it. */
  readonly isRangeOfFilter?: boolean
  /** Whether the container's policy allows an index on a path. */
  readonly mayIndex: (path: IndexPath) => boolean
  /** Whether the user asked for an index of the path; it is then built when the first query misses it. */
  readonly isPromised?: (path: IndexPath) => boolean
}
