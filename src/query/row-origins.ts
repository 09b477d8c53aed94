/**
 * Says which item each row of a page comes from, for rows that are held and judged again later. There are
 * two numbers for each row: the life of its item, and the sequence number of its item. The life of an item
 * that inherits its lifespan is the second in which it was written. The life of an item with a deadline of
 * its own is minus that deadline.
 */

import type { Origin } from '../document/bson/origin.ts'
import type { StoredItem } from '../store/item.ts'
import { type Living, neverDeadline } from '../store/policy.ts'

export type RowOrigin = readonly [life: number, sequence: number]
export type RowOrigins = ArrayLike<number>

type Judged = Pick<StoredItem, 'sequence' | 'ts' | 'deadline'>

/** The origin of a row that comes from no stored item. Such a row never dies. */
export const noItem: RowOrigin = [-neverDeadline, -1]

export function originOf({ sequence, ts, deadline }: Judged): RowOrigin {
  return [deadline === null ? ts : -deadline, sequence]
}

export function addOrigin(origins: number[], { sequence, ts, deadline }: Judged): void {
  origins.push(deadline === null ? ts : -deadline, sequence)
}

const beforeAllTime = Number.NEGATIVE_INFINITY

/** The origin of a row's document. */
export function documentOrigin(container: number, origins: RowOrigins, row: number): Origin {
  const life = origins[2 * row]!
  return {
    container,
    sequence: origins[2 * row + 1]!,
    writtenAt: life >= 0 ? life : beforeAllTime,
    deadline: life >= 0 ? beforeAllTime : -life,
    and: undefined,
  }
}

/** Whether the document of this origin is alive. The documents in `and` are judged separately. */
export function isOriginAlive({ writtenAt, deadline }: Origin, { inheritedAfter, ownAfter }: Living): boolean {
  return writtenAt > inheritedAfter || deadline > ownAfter
}

/** The earliest times among some items. As long as these are alive, all of the items are. */
export interface EarliestLives {
  readonly writtenAt: number
  readonly deadline: number
}

export const noLives: EarliestLives = { writtenAt: Number.POSITIVE_INFINITY, deadline: Number.POSITIVE_INFINITY }

export function earlierOf(left: EarliestLives, right: EarliestLives): EarliestLives {
  return {
    writtenAt: Math.min(left.writtenAt, right.writtenAt),
    deadline: Math.min(left.deadline, right.deadline),
  }
}

export function earliestIn(origins: RowOrigins): EarliestLives {
  let { writtenAt, deadline } = noLives
  for (let at = 0; at < origins.length; at += 2) {
    const life = origins[at]!
    if (life >= 0) writtenAt = Math.min(writtenAt, life)
    else deadline = Math.min(deadline, -life)
  }
  return { writtenAt, deadline }
}

export function areAllAlive({ writtenAt, deadline }: EarliestLives, { inheritedAfter, ownAfter }: Living): boolean {
  return writtenAt > inheritedAfter && deadline > ownAfter
}
