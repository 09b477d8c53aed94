/** Finds the place of a deadline in a list that is ordered by deadline, from the forecast's buckets. */

import type { Forecast } from '../../api/shapes.ts'

/** A place where a list can begin: the index of its first row, and the time after which its items die. */
export interface TimePlace {
  startIndex: number
  from: number
}

/**
 * Where to begin for the row of this index. Within a bucket deadlines are taken as evenly spread, which is
 * right enough for a scroll bar. Behind the last bucket come the items that never die, and no time tells
 * them apart: the place is that of the first of them.
 */
export function placeAt({ buckets }: Pick<Forecast, 'buckets'>, index: number): TimePlace {
  let before = 0
  for (const { start, end, inherited, own } of buckets) {
    const inBucket = inherited + own
    if (index < before + inBucket) {
      const from = Math.floor(start + ((index - before) / inBucket) * (end - start)) - 1
      return { startIndex: index, from }
    }
    before += inBucket
  }
  return { startIndex: before, from: buckets.at(-1)?.end ?? 0 }
}
