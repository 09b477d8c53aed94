/**
 * Whether a container still holds dead items, or log entries that it keeps no longer.
 *
 * The census has the earliest time of each lifespan and of the log. If even that row is alive, all rows are:
 * nothing has to be counted or scanned.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { Living } from '../store/policy.ts'
import type { Census, Cohort } from '../store/reading.ts'

type Earliest = Pick<Census, 'earliestInherited' | 'earliestOwn'>

export function hasDead(census: Earliest, living: Living): boolean {
  return hasDeadOf('inherited', census, living) || hasDeadOf('own', census, living)
}

/** The same for one kind of lifespan: items that inherit theirs, or items with a ttl of their own. */
export function hasDeadOf(lifespan: Cohort['lifespan'], census: Earliest, living: Living): boolean {
  return lifespan === 'inherited'
    ? census.earliestInherited !== null && census.earliestInherited <= living.inheritedAfter
    : census.earliestOwn !== null && census.earliestOwn <= living.ownAfter
}

/** A log that is switched off (`logSeconds` is null) keeps nothing. */
export function hasOldEntries(
  { earliestLogged }: Pick<Census, 'earliestLogged'>,
  logSeconds: number | null,
  now: EpochSeconds,
): boolean {
  return earliestLogged !== null && earliestLogged <= now - (logSeconds ?? 0)
}
