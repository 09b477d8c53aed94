/** An item: its key, the stamps that the store gives it, and its body before and after they are known. */

import type { EpochSeconds } from '../base/clock.ts'
import type { Body } from '../document/body.ts'

export interface ItemKey {
  /** The effective partition key: where in the hash space the item lives. */
  readonly epk: string
  /** The partition key itself, in its canonical form. Two keys may share an effective one. */
  readonly pk: string
  readonly id: string
}

/** What only the store knows at the moment of writing. */
export interface Stamp {
  /** Names this incarnation of the item within its container. */
  readonly sequence: number
  readonly version: number
  readonly ts: EpochSeconds
}

export type StampName = keyof Stamp

/**
 * A body with gaps for the stamps: `texts[0] stamps[0] texts[1] stamps[1] … texts[n]`.
 *
 * Bytes have no gaps: what BSON clients see of an item has no stamps in it.
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
  /** System properties included. */
  readonly body: Body
}

/** An item that was found without being named. */
export interface ScannedItem extends StoredItem {
  readonly key: ItemKey
}
