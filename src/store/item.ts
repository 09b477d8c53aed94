/**
 * An item: its key, the stamps that the store gives it, and its body before and after the stamps are known.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { Body } from '../document/body.ts'

export interface ItemKey {
  /** The effective partition key: the place of the item in the hash space. */
  readonly epk: string
  /** The partition key itself, in canonical form. Two of them may have the same effective one. */
  readonly pk: string
  readonly id: string
}

/** Numbers that only the store knows, and only when it writes. */
export interface Stamp {
  /** Unique in the container; an item that is created again gets another one. */
  readonly sequence: number
  readonly version: number
  readonly ts: EpochSeconds
}

export type StampName = keyof Stamp

/**
 * A body with gaps for the stamps: `texts[0] stamps[0] texts[1] stamps[1] … texts[n]`.
 *
 * Bytes have no gaps: BSON bodies contain no stamps.
 */
export type Draft = TextDraft | Uint8Array

export interface TextDraft {
  readonly texts: readonly string[]
  readonly stamps: readonly StampGap[]
}

export interface StampGap {
  readonly name: StampName
  readonly print: (value: number) => string
  /**
   * What `print` does, as data. A store that knows this form can print the stamp where it stores the item,
   * and saves a round trip. One that does not know it calls `print`.
   */
  readonly form?: StampForm
}

/** A text that is always the same, then the number. */
export interface StampForm {
  readonly before: string
  readonly number: NumberForm
}

/** How a number is printed. */
export type NumberForm =
  | 'decimal'
  /** Lower case, padded with zeros to at least so many digits. */
  | { readonly kind: 'hexadecimal'; readonly digitsMin: number }
  /** Base64 of some bytes (given in hexadecimal) and the number as eight bytes, little endian. */
  | {
      readonly kind: 'base64'
      readonly bytesBefore: string
      /** Stands for each `/`. */
      readonly slash: string
    }

export interface StoredItem extends Stamp {
  /** The item's own deadline, `neverDeadline`, or `null` when it inherits. */
  readonly deadline: number | null
  /** Includes the system properties. */
  readonly body: Body
}

/** An item that was found by a scan, with its key. */
export interface ScannedItem extends StoredItem {
  readonly key: ItemKey
}
