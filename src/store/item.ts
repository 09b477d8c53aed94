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
  /** What `print` does, as data: a store that prints in SQL needs no second round trip then. */
  readonly form?: StampForm
}

/** The number behind a text that is always the same. */
export interface StampForm {
  readonly before: string
  /**
   * Twelve hexadecimal digits or more; `base64` of `bytesBefore` and the number, eight bytes little endian,
   * `-` for `/`.
   */
  readonly number: 'decimal' | 'hexadecimal' | 'base64'
  /** Two bytes in hexadecimal. */
  readonly bytesBefore?: string
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
