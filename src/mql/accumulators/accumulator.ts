/**
 * Accumulators: the state that `$group` and similar stages keep per group, fed one value at a time.
 *
 * An accumulator reports how many bytes it holds, so that a stage can stay within its memory limit. It owns
 * the values it keeps: they do not keep the source documents alive.
 */

import type { Value } from '../../document/bson/value.ts'

export interface Accumulator {
  /** Approximate memory use. */
  readonly bytes: number
  /** False when no further value can change the result. */
  readonly isOpen: boolean
  take(value: Value | undefined): void
  result(): Value | undefined
}
