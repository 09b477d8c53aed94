/**
 * A query compiled into the pieces a planner can use one by one: rows, filter, projection, order, groups.
 *
 * The pieces read and write the slots of one frame. `row-pipeline.ts` puts them together; a planner that
 * takes its items from an index can leave out what the index has already done.
 */

import type { Query } from '../syntax/ast.ts'
import type { Frame } from '../values/run-context.ts'
import type { AggregateUse, Evaluator } from './scope.ts'

/**
 * Fills the slots of the aliases and calls `next` once per row, until it answers false; tells whether to go
 * on.
 */
export type RowBinder = (frame: Frame, next: () => boolean) => boolean

/** The slot of the item itself. It has no name: whatever FROM calls the container is an alias for it. */
export const itemSlot = 0

export interface OrderKey {
  readonly evaluate: Evaluator
  readonly isDescending: boolean
}

export interface GroupPlan {
  readonly keys: readonly { readonly evaluate: Evaluator; readonly slot: number }[]
  readonly aggregates: readonly AggregateUse[]
  /** Without GROUP BY all rows are one group, which is there even when no row is. */
  readonly isSingle: boolean
}

export interface CompiledSelect {
  readonly query: Query
  /** Slots a frame needs; the same for all selects of one query. */
  readonly slotCount: () => number
  /**
   * `FROM (SELECT …)`: the select whose rows take the place of items, and the slot they are handed over in.
   */
  readonly derived: { readonly select: CompiledSelect; readonly rowSlot: number } | undefined
  /** The rows of the current item, by its FROM and JOINs. */
  readonly bindRows: RowBinder
  /** Undefined keeps every row; otherwise a row stays when this is exactly true. */
  readonly filter: Evaluator | undefined
  readonly groups: GroupPlan | undefined
  readonly orderKeys: readonly OrderKey[]
  /** The row of the result; undefined is no row. */
  readonly project: Evaluator
  /** Whether `project` makes new values, which may be larger than what they are made of. */
  readonly builds: boolean
}
