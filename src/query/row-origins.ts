/**
 * Which item each row of a page comes from, as numbers, for rows that are held and judged again later: two
 * for each row, its life and its sequence number. A life is the second of writing of an item that inherits
 * its lifespan, or minus the own deadline of one that does not.
 */

import type { Origin } from '../document/bson/origin.ts'
import type { StoredItem } from '../store/item.ts'
import { type Living, neverDeadline } from '../store/policy.ts'

export type RowOrigin = readonly [life: number, sequence: number]
export type RowOrigins = ArrayLike<number>

type Judged = Pick<StoredItem, 'sequence' | 'ts' | 'deadline'>

/** Of a row that no stored item is behind. It never dies. */
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

/** Whether a document is alive: neither it nor one that it needs is dead. */
export function isOriginAlive({ writtenAt, deadline }: Origin, { inheritedAfter, ownAfter }: Living): boolean {
  return writtenAt > inheritedAfter || deadline > ownAfter
}

/** The earliest times among some items: while even these are alive, all are. */
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
