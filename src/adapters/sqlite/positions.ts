/**
 * Positions in the change order and in the log: plain numbers in SQLite.
 *
 * A position from PostgreSQL has one number per bucket (`adapters/postgres/rows/positions.ts`). After data
 * was moved from there, versions are the same: a reader continues behind the lowest number, and gets some
 * changes again. Log entries get new numbers when they are moved, so a reader of the log starts from the
 * beginning.
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
