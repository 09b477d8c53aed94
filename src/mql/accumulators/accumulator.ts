/**
 * Accumulators: what `$group` and its relatives keep of a group, one value at a time.
 *
 * An accumulator tells how many bytes it holds, so that a stage can keep to its memory. The values it keeps
 * are its own: they do not hold on to the documents they were parts of.
 */

import type { Value } from '../../document/bson/value.ts'

export interface Accumulator {
  /** About as many bytes as it takes. */
  readonly bytes: number
  /** False when no further value can change the result. */
  readonly isOpen: boolean
  take(value: Value | undefined): void
  result(): Value | undefined
}
