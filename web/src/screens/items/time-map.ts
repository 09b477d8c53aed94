/** Which deadline stands at which place of a list that is ordered by deadline: from the forecast's buckets. */

import type { Forecast } from '../../api/shapes.ts'

/**
 * The time after which the items of this index die; undefined for the first ones. Within a bucket deadlines are
 * taken as evenly spread, which is right enough for a scroll bar.
 */
export function deadlineAt({ buckets }: Pick<Forecast, 'buckets'>, index: number): number | undefined {
  let before = 0
  for (const { start, end, inherited, own } of buckets) {
    const inBucket = inherited + own
    if (index < before + inBucket) return Math.floor(start + ((index - before) / inBucket) * (end - start)) - 1
    before += inBucket
  }
  return buckets.at(-1)?.end
}
