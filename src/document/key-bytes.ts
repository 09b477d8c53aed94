/** Ranges of ordered keys as bytes, independent of the encoding of values. */

/**
 * Index keys are cut at this length. A key above a quarter of a page spills to an overflow page (measured at
 * 1000 characters: 3 times the time and 15 times the space), and PostgreSQL refuses keys above 2.7 KB.
 */
export const indexKeyBytesMax = 256

export type Ends = readonly [low: Uint8Array, high: Uint8Array]

/** The keys from `low` up to, but not including, `high`. The range is empty unless `low` is below `high`. */
export interface KeyRange {
  readonly low: Uint8Array
  readonly high: Uint8Array
  /** True if every key in the range belongs to a value that satisfies the bound. If not, check the values. */
  readonly isExact: boolean
}

/** The range after a prefix, with its ends cut as keys are. */
export function rangeAfterPrefix(prefix: Uint8Array, [from, to]: Ends, bytesMax: number): KeyRange {
  const low = Buffer.concat([prefix, from])
  const high = Buffer.concat([prefix, to])
  return {
    low: low.subarray(0, bytesMax),
    // After cutting, a key below `high` may equal the start of `high`.
    high: high.length > bytesMax ? successor(high.subarray(0, bytesMax)) : high,
    isExact: low.length <= bytesMax && high.length <= bytesMax,
  }
}

/** The range of the complemented keys. Complementing reverses the order, so the two ends change sides. */
export function mirrored([low, high]: Ends): Ends {
  return [successor(high.map(byte => ~byte)), successor(low.map(byte => ~byte))]
}

/** The first key above all keys that begin with the given bytes. */
export function successor(prefix: Uint8Array): Uint8Array {
  // Neither a tag nor its complement is FF.
  const last = prefix.findLastIndex(byte => byte !== 0xff)
  // Not `slice`: on a Buffer it shares the memory.
  const next = Uint8Array.from(prefix.subarray(0, last + 1))
  next[last]! += 1
  return next
}
