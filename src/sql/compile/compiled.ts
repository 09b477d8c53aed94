/**
 * A query compiled into parts that a planner can use separately: rows, filter, projection, order, groups.
 *
 * The parts read and write the slots of one frame. `row-pipeline.ts` combines them. A planner that takes its
 * items from an index can leave out what the index has already done.
 */

import type { Query } from '../syntax/ast.ts'
import type { Frame } from '../values/run-context.ts'
import type { AggregateUse, Evaluator } from './scope.ts'

/** Fills the slots of the aliases and calls `next` for each row. Returns false once `next` does. */
export type RowBinder = (frame: Frame, next: () => boolean) => boolean

/** The slot of the item itself. Names in FROM are aliases for it. */
export const itemSlot = 0

export interface OrderKey {
  readonly evaluate: Evaluator
  readonly isDescending: boolean
}

export interface GroupPlan {
  readonly keys: readonly { readonly evaluate: Evaluator; readonly slot: number }[]
  readonly aggregates: readonly AggregateUse[]
  /** Without GROUP BY all rows are one group, which exists even without rows. */
  readonly isSingle: boolean
}

export interface CompiledSelect {
  readonly query: Query
  /** Slots that a frame needs; the same for all selects of one query. */
  readonly slotCount: () => number
  /** `FROM (SELECT …)`: the select whose rows replace items, and the slot that holds each of them. */
  readonly derived: { readonly select: CompiledSelect; readonly rowSlot: number } | undefined
  /** The rows of the current item, from FROM and JOINs. */
  readonly bindRows: RowBinder
  /** Undefined keeps every row; otherwise a row is kept if this is exactly true. */
  readonly filter: Evaluator | undefined
  readonly groups: GroupPlan | undefined
  readonly orderKeys: readonly OrderKey[]
  /** The result row; undefined means no row. */
  readonly project: Evaluator
  /** The least work of one row, in steps. It grows with the text of the query. */
  readonly steps: number
  /** Whether `project` makes new values, which may be larger than their parts. */
  readonly builds: boolean
}
