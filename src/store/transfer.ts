/**
 * All that a store holds, as it is: for moving it into another store, whichever kind the two are.
 *
 * Beside the port, because nobody may use a store while its insides are moved. Items come alive or dead, with
 * the numbers, seconds and deadlines that they have; entries of indexes are made anew from the bodies.
 */

import { createHash } from 'node:crypto'
import type { EpochSeconds } from '../base/clock.ts'
import type { ContainerRecord, DatabaseRecord } from './catalog.ts'
import type { ItemKey, ScannedItem } from './item.ts'
import type { LogEntry } from './reading.ts'

export interface StoredContainer extends ContainerRecord {
  /** No version above this was ever given in it, nor a number to an entry of its log. */
  readonly newest: number
  /** The number of the last entry of its log that is no longer remembered. */
  readonly logForgotten: number
  /** Rows of items, alive or dead, and of its log. */
  readonly rows: number
  readonly logRows: number
}

export interface StoreContents {
  /** The latest moment that the store has seen. */
  readonly mark: EpochSeconds
  readonly databases: readonly DatabaseRecord[]
  readonly containers: readonly StoredContainer[]
}

/** An entry of a log and its number, which positions in it are made of. */
export type StoredEntry = Omit<LogEntry, 'position'> & { readonly number: number }

/** How far a transfer has come in a container: behind this item, and behind this entry of the log. */
export interface Reached {
  readonly item?: Pick<ScannedItem, 'key' | 'sequence'> | undefined
  readonly entry?: Pick<StoredEntry, 'key' | 'number'> | undefined
}

export interface TransferSource extends AsyncDisposable {
  contents(): Promise<StoreContents>
  /** The next items in an order of the store's own; none when there are no more. */
  items(container: StoredContainer, after: Reached['item'], itemsMax: number): Promise<readonly ScannedItem[]>
  log(container: StoredContainer, after: Reached['entry'], entriesMax: number): Promise<readonly StoredEntry[]>
}

/** What is half moved is no store yet: nothing else can open it. */
export interface TransferTarget extends TransferSource {
  /**
   * Makes databases and containers in an empty store, or finds how far an earlier transfer of the same
   * contents has come.
   */
  begin(contents: StoreContents): Promise<ReadonlyMap<number, Reached>>
  /**
   * Stores items with their entries; what was stored before is not stored again, and that they are is
   * remembered with them.
   */
  putItems(container: StoredContainer, items: readonly ScannedItem[]): Promise<void>
  putLog(container: StoredContainer, entries: readonly StoredEntry[]): Promise<void>
  /** From now on it is a store. */
  finish(contents: StoreContents): Promise<void>
}

/** Tells whether a transfer that was broken off was one of the same contents. */
export function fingerprintOf(contents: StoreContents): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex')
}

/**
 * Counts and adds up what it is shown; two that were shown the same things are equal, in whichever order they
 * came.
 */
export class Checksum {
  #count = 0
  #sum = 0n

  add(thing: ScannedItem | StoredEntry): void {
    const { key, sequence, version, ts, body } = thing
    const isItem = 'deadline' in thing
    const rest = isItem
      ? [thing.deadline]
      : [
          thing.kind,
          thing.previous?.version ?? null,
          thing.previous === undefined ? null : digestOf(thing.previous.body),
        ]
    const hash = createHash('sha256').update(JSON.stringify([nameOf(key), sequence, version, ts, ...rest]))
    hash.update(body === undefined ? '' : digestOf(body))
    this.#sum = BigInt.asUintN(64, this.#sum + hash.digest().readBigUInt64LE())
    this.#count++
  }

  get count(): number {
    return this.#count
  }

  toString(): string {
    return `${this.#count} ${this.#sum.toString(16).padStart(16, '0')}`
  }
}

function digestOf(body: string | Uint8Array): string {
  return createHash('sha256').update(body).digest('base64')
}

function nameOf({ epk, pk, id }: ItemKey): readonly string[] {
  return [epk, pk, id]
}
