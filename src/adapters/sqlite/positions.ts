/**
 * Positions in the change order and in the log: plain numbers in SQLite.
 *
 * A position from PostgreSQL has a number for each bucket. After data was moved from there, versions are the
 * same: a reader continues behind the lowest number, and gets some changes again. It gets all of them if one
 * bucket had none, because its number is 0. Log entries get new numbers when they are moved, so a reader of
 * the log starts from the beginning.
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
