/**
 * Positions in the change order and in the log: a version for each bucket, behind which reading continues.
 *
 * Each bucket has its own commit order. A plain number means that number in every bucket: positions of SQLite
 * look like this, and stay valid when its data is moved here.
 */

import type { ChangePosition } from '../../../store/reading.ts'
import { parsePosition, strangePosition } from '../../positions.ts'
import { bucketCount } from './keys.ts'

export function bucketVersions(position: ChangePosition): number[] {
  const parsed = parsePosition(position)
  if (typeof parsed === 'number') return new Array(bucketCount).fill(parsed)
  if (parsed.length !== bucketCount) throw strangePosition()
  return parsed
}

export function printPosition(versions: readonly number[]): ChangePosition {
  return `b${versions.map(version => (version === 0 ? '' : version.toString(36))).join('.')}`
}
