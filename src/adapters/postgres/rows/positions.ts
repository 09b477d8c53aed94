/**
 * Positions in the change order and in the log: a version for each bucket, behind which reading continues.
 *
 * Each bucket has its own commit order. A position is `b` and the versions of all buckets in base 36,
 * separated by dots; it is empty for a bucket that nothing was read from. A plain number means that number
 * in every bucket: positions of SQLite look like this, and stay valid when its data is moved here.
 */

import { RequestError } from '../../../base/error.ts'
import type { ChangePosition } from '../../../store/reading.ts'
import { bucketCount } from './keys.ts'

export function parsePosition(position: ChangePosition): number[] {
  if (/^\d{1,16}$/.test(position)) return new Array(bucketCount).fill(Number(position))
  const parts = position.startsWith('b') ? position.slice(1).split('.') : []
  const versions = parts.map(part =>
    part === '' ? 0 : /^[0-9a-z]{1,11}$/.test(part) ? Number.parseInt(part, 36) : Number.NaN,
  )
  if (versions.length !== bucketCount || !versions.every(Number.isSafeInteger)) {
    throw new RequestError('malformed', 'The position is not one of this store.')
  }
  return versions
}

export function printPosition(versions: readonly number[]): ChangePosition {
  return `b${versions.map(version => (version === 0 ? '' : version.toString(36))).join('.')}`
}
