/**
 * The position of a page in a result that is ordered by sort keys: the last sort key that was returned.
 *
 * A sort key can be as large as an item. A continuation token cannot, so it holds a long sort key cut short:
 * the first `sortKeyBytesMax` bytes, the last 16 bytes, and a digest of everything before those 16 bytes.
 * A row whose sort key starts with the same bytes may lie before or after the position. If one such row still
 * has the same digest, its sort key completes the one that was cut, and comparing decides. If no row has that
 * digest any more, rows with the same start are skipped: as many as earlier pages returned with another
 * digest. This skips too many only if one of those rows has disappeared as well.
 */

import { hash } from 'node:crypto'
import { identityBytes } from './sort-key.ts'
import type { KeyedRow } from './top-rows.ts'

/**
 * Longest part of a sort key in a continuation token. SDKs ask for tokens of at most 1 KB, and clients refuse
 * answers with more than 16 KB of headers.
 */
export const sortKeyBytesMax = 384

export interface SortKeyPosition {
  /** The last sort key returned, or its start, in base64. Its name, `place`, is part of the token format. */
  readonly place?: string
  /**
   * Present when the sort key is cut: the digest of everything before the end, the end itself, and how many
   * returned rows start with the same bytes, without (`others`) and with (`same`) that digest.
   */
  readonly cut?: readonly [digest: string, end: string, others: number, same: number]
}

/**
 * Long enough for a tie-breaker and for an identity, so sort keys that differ before the end differ in their
 * order keys.
 */
const endBytes = identityBytes

export class Boundary {
  readonly sortKey: Uint8Array
  readonly #cut: SortKeyPosition['cut']

  private constructor(sortKey: Uint8Array, cut: SortKeyPosition['cut']) {
    this.sortKey = sortKey
    this.#cut = cut
  }

  static of(position: SortKeyPosition | undefined): Boundary | undefined {
    if (position?.place === undefined) return undefined
    return new Boundary(Buffer.from(position.place, 'base64'), position.cut)
  }

  get isWhole(): boolean {
    return this.#cut === undefined
  }

  /** Negative: already returned. Positive: still to come. 0: undecided, `rest` decides. */
  compare(sortKey: Uint8Array): number {
    if (this.#cut !== undefined) return Buffer.compare(beginning(sortKey), this.sortKey)
    return Buffer.compare(sortKey, this.sortKey) <= 0 ? -1 : 1
  }

  /** The rows that are still to come, from rows in sort key order. */
  rest(rows: readonly KeyedRow[]): readonly KeyedRow[] {
    const ahead = rows.filter(({ sortKey }) => this.compare(sortKey) >= 0)
    if (this.#cut === undefined) return ahead
    const [digest, end, others] = this.#cut
    const known = ahead.find(({ sortKey }) => this.compare(sortKey) === 0 && digestOf(sortKey) === digest)
    if (known === undefined) {
      const alike = ahead.filter(({ sortKey }) => this.compare(sortKey) === 0).length
      return ahead.slice(Math.min(others, alike))
    }
    const whole = Buffer.concat([known.sortKey.subarray(0, -endBytes), Buffer.from(end, 'base64')])
    return ahead.filter(({ sortKey }) => Buffer.compare(sortKey, whole) > 0)
  }

  /** How many returned rows start like this sort key, without and with its digest. */
  countsLike(sortKey: Uint8Array): { others: number; same: number } {
    if (this.#cut === undefined || this.compare(sortKey) !== 0) return { others: 0, same: 0 }
    const [digest, , others, same] = this.#cut
    return digestOf(sortKey) === digest ? { others, same } : { others: others + same, same: 0 }
  }
}

/** The position after the first `count` rows of a page that started after `startedAfter`. */
export function positionAfter(
  rows: readonly KeyedRow[],
  count: number,
  startedAfter: Boundary | undefined,
): SortKeyPosition {
  const { sortKey } = rows[count - 1]!
  if (sortKey.length <= sortKeyBytesMax) return { place: toBase64(sortKey) }
  const start = beginning(sortKey)
  const digest = digestOf(sortKey)
  const isLike = (other: KeyedRow) => Buffer.compare(beginning(other.sortKey), start) === 0
  const alike = rows.slice(0, count).filter(isLike)
  const same = alike.filter(other => digestOf(other.sortKey) === digest).length
  const before = startedAfter?.countsLike(sortKey) ?? { others: 0, same: 0 }
  return {
    place: toBase64(start),
    cut: [digest, toBase64(sortKey.subarray(-endBytes)), before.others + alike.length - same, before.same + same],
  }
}

function beginning(sortKey: Uint8Array): Uint8Array {
  return sortKey.subarray(0, sortKeyBytesMax)
}

function digestOf(sortKey: Uint8Array): string {
  return hash('sha256', sortKey.subarray(0, -endBytes), 'base64').slice(0, 16)
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
