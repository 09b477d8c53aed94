/**
 * Positions in the change order and in the log, as text: a plain number in SQLite; in PostgreSQL `b` and a
 * number in base 36 for each bucket, separated by dots. The part of a bucket that nothing was read from is
 * empty. Each adapter accepts both forms, because data can be moved from one to the other.
 */

import { RequestError } from '../base/error.ts'
import type { ChangePosition } from '../store/reading.ts'

/** One number, or one for each bucket. */
export function parsePosition(position: ChangePosition): number | number[] {
  if (/^\d{1,16}$/.test(position)) return Number(position)
  if (!/^b[0-9a-z.]+$/.test(position)) throw strangePosition()
  const numbers = position
    .slice(1)
    .split('.')
    .map(part => (part === '' ? 0 : part.length > 11 ? Number.NaN : Number.parseInt(part, 36)))
  if (!numbers.every(Number.isSafeInteger)) throw strangePosition()
  return numbers
}

export function strangePosition(): RequestError {
  return new RequestError('malformed', 'The position is not one of this store.')
}
