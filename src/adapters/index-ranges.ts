/** The positions at which a scan over ranges of index keys begins, continues and ends. */

import type { IndexPosition, IndexRange } from '../store/reading.ts'

type KeyRange = IndexRange['keys'][number]

/** The key ranges that are still to be read, in the direction of reading. */
export function remainingRanges({ keys, isReverse, after }: IndexRange): readonly KeyRange[] {
  const ordered = isReverse ? keys.toReversed() : keys
  if (after === undefined) return ordered
  const isOver = ({ low, high }: KeyRange) =>
    isReverse ? Buffer.compare(low, after.key) > 0 : Buffer.compare(high, after.key) <= 0
  // Binary search: there may be thousands of ranges, and every slice of a scan looks for its place again.
  let [from, to] = [0, ordered.length]
  while (from < to) {
    const middle = (from + to) >> 1
    if (isOver(ordered[middle]!)) from = middle + 1
    else to = middle
  }
  return ordered.slice(from)
}

/** The position behind all entries of a range. */
export function endOf({ low, high }: KeyRange, isReverse: boolean): IndexPosition {
  return { key: isReverse ? low : high, sequence: -1 }
}

/**
 * The position behind which reading begins. If nothing of the range was read yet, it is before every
 * sequence of `low` or, in reverse, before every key below `high`.
 */
export function startOf({ isReverse, after }: IndexRange, { low, high }: KeyRange): IndexPosition {
  const isBegun = after !== undefined && isWithin(after.key, { low, high })
  return isBegun ? after : { key: isReverse ? high : low, sequence: -1 }
}

export function isWithin(key: Uint8Array, { low, high }: KeyRange): boolean {
  return Buffer.compare(key, low) >= 0 && Buffer.compare(key, high) < 0
}

export function lastPosition(items: readonly { indexKey: Uint8Array; sequence: number }[]): IndexPosition {
  const { indexKey, sequence } = items.at(-1)!
  return { key: indexKey, sequence }
}
