/**
 * Accumulators: the state that `$group` and similar stages keep per group, fed one value at a time.
 *
 * An accumulator reports how many bytes it holds, so that a stage can stay within its memory limit. It owns
 * the values it keeps: they do not keep the source documents alive.
 */

import type { Origin } from '../../document/bson/origin.ts'
import type { Value } from '../../document/bson/value.ts'

export interface Accumulator {
  /** Approximate memory use. */
  readonly bytes: number
  /** False when no further value can change the result. */
  readonly isOpen: boolean
  /** An accumulator whose result shows single values keeps their origins with them. */
  take(value: Value | undefined, origin?: Origin): void
  result(): Value | undefined
}
