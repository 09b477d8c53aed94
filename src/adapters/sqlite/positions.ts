/**
 * Positions in the change order and in the log: plain numbers here.
 *
 * A store in PostgreSQL writes one number for each of its parts (`adapters/postgres/rows/positions.ts`). When
 * its data was moved here, a reader goes on behind the lowest of them, and gets again what it had of the
 * others; versions are kept by the move. Entries of the log are numbered anew by it, so there a reader begins
 * from the beginning.
 */

import { RequestError } from '../../base/error.ts'
import type { ChangePosition } from '../../store/reading.ts'

export function changeNumber(position: ChangePosition): number {
  return plain(position) ?? Math.min(...partsOf(position).map(part => (part === '' ? 0 : Number.parseInt(part, 36))))
}

export function logNumber(position: ChangePosition): number {
  const number = plain(position)
  if (number === undefined) partsOf(position)
  return number ?? 0
}

function plain(position: ChangePosition): number | undefined {
  return /^\d{1,16}$/.test(position) ? Number(position) : undefined
}

function partsOf(position: ChangePosition): string[] {
  if (!/^b[0-9a-z.]+$/.test(position)) throw new RequestError('malformed', 'The position is not one of this store.')
  return position.slice(1).split('.')
}
