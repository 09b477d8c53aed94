/**
 * Positions in the change order and in the log: plain numbers in SQLite.
 *
 * A position from PostgreSQL has a number for each bucket. After data was moved from there, versions are the
 * same: a reader continues behind the lowest number, and gets some changes again. It gets all of them if one
 * bucket had none, because its number is 0. Log entries from PostgreSQL get new numbers, so a reader of the
 * log starts from the beginning. It is refused if entries had been removed before the move, because it may
 * have missed some of them. Positions from another SQLite store stay valid.
 */

import type { ChangePosition } from '../../store/reading.ts'
import { parsePosition } from '../positions.ts'

export function changeNumber(position: ChangePosition): number {
  const parsed = parsePosition(position)
  return typeof parsed === 'number' ? parsed : Math.min(...parsed)
}

export function logNumber(position: ChangePosition): number {
  const parsed = parsePosition(position)
  return typeof parsed === 'number' ? parsed : 0
}
