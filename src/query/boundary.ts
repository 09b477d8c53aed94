/**
 * How far a result in the order of places has come.
 *
 * A place holds its whole order key, which can be as large as an item, and tokens cannot. Of a long place the
 * token has the beginning, the end, and a digest of what stands before the end. Rows whose places begin alike
 * are undecided: as long as one of them has the same digest, the whole place is known again. When none has it
 * any more, the number of other rows that were alike and given before stands in. That can lead too far only
 * when one of those has disappeared as well.
 */

import { hash } from 'node:crypto'
import { identityBytes } from './place.ts'
import type { PlacedRow } from './top-rows.ts'

/**
 * How much of a row's place travels in a continuation token. SDKs ask for tokens of 1 KB at most, and clients
 * refuse answers with more than 16 KB of headers.
 */
export const placeBytesMax = 384

export interface PlacePosition {
  /** In the order of places: behind this one, in base64. */
  readonly place?: string
  /**
   * Of a place that is cut: the digest of all but its end, its end, and the rows passed that begin alike, by
   * whether they have it.
   */
  readonly cut?: readonly [digest: string, end: string, others: number, same: number]
}

/**
 * Longer than a tie and as long as an identity, so that rows which differ before it differ by their order
 * keys.
 */
const endBytes = identityBytes

export class Boundary {
  readonly place: Uint8Array
  readonly #cut: PlacePosition['cut']

  private constructor(place: Uint8Array, cut: PlacePosition['cut']) {
    this.place = place
    this.#cut = cut
  }

  static of(position: PlacePosition | undefined): Boundary | undefined {
    if (position?.place === undefined) return undefined
    return new Boundary(Buffer.from(position.place, 'base64'), position.cut)
  }

  get isWhole(): boolean {
    return this.#cut === undefined
  }

  /** Below 0 when the place is behind us, above when it is ahead, 0 when that is to be decided by `rest`. */
  compare(place: Uint8Array): number {
    if (this.#cut !== undefined) return Buffer.compare(beginning(place), this.place)
    return Buffer.compare(place, this.place) <= 0 ? -1 : 1
  }

  /** Of rows in order, those that are still to come. */
  rest(rows: readonly PlacedRow[]): readonly PlacedRow[] {
    const ahead = rows.filter(({ place }) => this.compare(place) >= 0)
    if (this.#cut === undefined) return ahead
    const [digest, end, others] = this.#cut
    const known = ahead.find(({ place }) => this.compare(place) === 0 && digestOf(place) === digest)
    if (known === undefined) {
      const alike = ahead.filter(({ place }) => this.compare(place) === 0).length
      return ahead.slice(Math.min(others, alike))
    }
    const whole = Buffer.concat([known.place.subarray(0, -endBytes), Buffer.from(end, 'base64')])
    return ahead.filter(({ place }) => Buffer.compare(place, whole) > 0)
  }

  /** Of the rows given before, how many begin like this place, by whether they have its digest. */
  countsLike(place: Uint8Array): { others: number; same: number } {
    if (this.#cut === undefined || this.compare(place) !== 0) return { others: 0, same: 0 }
    const [digest, , others, same] = this.#cut
    return digestOf(place) === digest ? { others, same } : { others: others + same, same: 0 }
  }
}

/** Where to go on behind the first rows of a page, which itself began behind `begun`. */
export function positionBehind(rows: readonly PlacedRow[], count: number, begun: Boundary | undefined): PlacePosition {
  const { place } = rows[count - 1]!
  if (place.length <= placeBytesMax) return { place: toBase64(place) }
  const start = beginning(place)
  const digest = digestOf(place)
  const isLike = (other: PlacedRow) => Buffer.compare(beginning(other.place), start) === 0
  const alike = rows.slice(0, count).filter(isLike)
  const same = alike.filter(other => digestOf(other.place) === digest).length
  const before = begun?.countsLike(place) ?? { others: 0, same: 0 }
  return {
    place: toBase64(start),
    cut: [digest, toBase64(place.subarray(-endBytes)), before.others + alike.length - same, before.same + same],
  }
}

function beginning(place: Uint8Array): Uint8Array {
  return place.subarray(0, placeBytesMax)
}

function digestOf(place: Uint8Array): string {
  return hash('sha256', place.subarray(0, -endBytes), 'base64').slice(0, 16)
}

function toBase64(bytes: Uint8Array): string {
  return Buffer.from(bytes).toString('base64')
}
