/** Ranges of ordered keys, whatever the encoding of the values: their ends as bytes. */

/**
 * Keys of an index are cut here. A key above a quarter of a page spills to an overflow page of its own
 * (measured at 1000 characters: 3 times the time and 15 times the space), and PostgreSQL refuses keys above
 * 2.7 KB.
 */
export const indexKeyBytesMax = 256

export type Ends = readonly [low: Uint8Array, high: Uint8Array]

/**
 * The keys from `low` up to, but not including, `high`. The range is empty when `low` is not below `high`.
 */
export interface KeyRange {
  readonly low: Uint8Array
  readonly high: Uint8Array
  /**
   * Every key in the range is of a value that satisfies the bound; otherwise the values must be looked at
   * again.
   */
  readonly isExact: boolean
}

/** The range behind a prefix, with its ends cut as keys are. */
export function rangeBehind(prefix: Uint8Array, [from, to]: Ends, bytesMax: number): KeyRange {
  const low = Buffer.concat([prefix, from])
  const high = Buffer.concat([prefix, to])
  return {
    low: low.subarray(0, bytesMax),
    // A key below `high` may be equal to its beginning once both are cut.
    high: high.length > bytesMax ? successor(high.subarray(0, bytesMax)) : high,
    isExact: low.length <= bytesMax && high.length <= bytesMax,
  }
}

/** Complementing turns the order around, so that what begins with an end of the range changes sides. */
export function mirrored([low, high]: Ends): Ends {
  return [successor(high.map(byte => ~byte)), successor(low.map(byte => ~byte))]
}

/** The first key above all keys that begin with the given bytes. */
export function successor(prefix: Uint8Array): Uint8Array {
  // No tag is FF, nor is its complement.
  const last = prefix.findLastIndex(byte => byte !== 0xff)
  // Not slice, which on a Buffer shares the bytes.
  const next = Uint8Array.from(prefix.subarray(0, last + 1))
  next[last]! += 1
  return next
}
