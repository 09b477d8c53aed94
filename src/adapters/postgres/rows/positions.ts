/**
 * Where reading changes goes on: behind a version in each bucket.
 *
 * Each bucket has an order of its own, that of its commits. A position is `b` and the versions of all buckets
 * in base 36, with dots between them; a bucket that nothing was read from has none. A plain number stands for
 * itself in every bucket: that is how an embedded store writes its positions, and they stay good when its
 * data is moved here.
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
