/**
 * Who is alive at a moment: the one predicate that every read carries into storage and that the purger
 * negates.
 *
 * A policy and a moment reduce to two thresholds, so judging an item is one comparison in any language:
 *
 *   inherits   alive when writtenAt > max(inheritedDeadAt, moment - default)
 *              no default (null or -1): only inheritedDeadAt counts
 *   own ttl    alive when deadline  > max(ownDeadAt, moment)
 *              expiry off (null): only ownDeadAt counts
 *
 * An item is dead *at* its deadline: the comparison is strict.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { Living, TtlPolicy } from '../store/policy.ts'

export function livingAt(policy: TtlPolicy, moment: EpochSeconds): Living {
  const { defaultTtl, inheritedDeadAt, ownDeadAt } = policy
  return {
    inheritedAfter:
      defaultTtl !== null && defaultTtl > 0 ? Math.max(inheritedDeadAt, moment - defaultTtl) : inheritedDeadAt,
    ownAfter: defaultTtl !== null ? Math.max(ownDeadAt, moment) : ownDeadAt,
  }
}

export function isAlive(living: Living, item: { readonly ts: number; readonly deadline: number | null }): boolean {
  return item.deadline === null ? item.ts > living.inheritedAfter : item.deadline > living.ownAfter
}
