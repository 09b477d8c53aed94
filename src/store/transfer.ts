/**
 * How everything in a store is moved into another one, of the same kind or not.
 *
 * It is not part of the port, because nobody may use a store during the move. Items are moved alive or dead,
 * with their numbers, seconds and deadlines. Index entries are made again from the bodies.
 */

import { createHash } from 'node:crypto'
import type { EpochSeconds } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import type { ContainerRecord, DatabaseRecord } from './catalog.ts'
import type { ItemKey, ScannedItem } from './item.ts'
import type { LogEntry } from './reading.ts'

export interface StoredContainer extends ContainerRecord {
  /** No version of the container and no position in its log has a higher number. */
  readonly newest: number
  /** The number of the last log entry that was removed. */
  readonly logForgotten: number
  /** Number of item rows, alive or dead. */
  readonly rows: number
  readonly logRows: number
}

export interface StoreContents {
  /**
   * The highest number of a log entry, if they have one order over all containers. Otherwise undefined:
   * entries of two containers may have the same number.
   */
  readonly logNewest?: number
  /** The latest moment that the store has seen. */
  readonly mark: EpochSeconds
  readonly databases: readonly DatabaseRecord[]
  readonly containers: readonly StoredContainer[]
}

/** A log entry with its number, which positions are made of. */
export type StoredEntry = Omit<LogEntry, 'position' | 'kind'> & {
  readonly number: number
  /** A `note` or an `end` is about the catalog: its body is the note. */
  readonly kind: LogEntry['kind'] | 'note' | 'end'
}

/** How far a transfer has come in a container: the last item and the last log entry. */
export interface Reached {
  readonly item?: Pick<ScannedItem, 'key' | 'sequence'> | undefined
  readonly entry?: Pick<StoredEntry, 'key' | 'number'> | undefined
}

export interface TransferSource extends AsyncDisposable {
  contents(): Promise<StoreContents>
  /** The next items, in an order that the store chooses; empty when there are no more. */
  items(container: StoredContainer, after: Reached['item'], itemsMax: number): Promise<readonly ScannedItem[]>
  log(container: StoredContainer, after: Reached['entry'], entriesMax: number): Promise<readonly StoredEntry[]>
}

/** Until `finish`, nothing else can open the target. */
export interface TransferTarget extends TransferSource {
  /** Creates databases and containers in an empty store, or finds how far an earlier transfer has come. */
  begin(contents: StoreContents): Promise<ReadonlyMap<number, Reached>>
  /**
   * Stores items with their index entries, and remembers how far it came. Items that are there are skipped.
   */
  putItems(container: StoredContainer, items: readonly ScannedItem[]): Promise<void>
  putLog(container: StoredContainer, entries: readonly StoredEntry[]): Promise<void>
  /** From now on the target can be opened as a store. */
  finish(contents: StoreContents): Promise<void>
}

/** Identifies the contents, so that an interrupted transfer is resumed only with the same ones. */
export function fingerprintOf(contents: StoreContents): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex')
}

/** A count and a sum of hashes. Two are equal if they were given the same things, in any order. */
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

/** A copy knows one time only. */
export function requireSureTime(sure: EpochSeconds | null | undefined, ahead: number | null): void {
  if ((sure ?? null) === null && ahead === null) return
  throw new RequestError(
    'unsupported',
    'The time of this data is in doubt, because a clock was wrong. Start a server with it, trust the time ' +
      '(mayfly clock trust) or correct the clock, wait a minute, and try again.',
  )
}
