/**
 * Whether a container still holds dead items.
 *
 * The census names the oldest row of each lifespan. If even that one is alive, all rows are: nothing has to
 * be counted or scanned.
 */

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
