/**
 * What documents were before they were changed, for as long as somebody reads a snapshot.
 *
 * A store shows the present only. While a snapshot is open, every write first notes here what it found. To a
 * reader of the snapshot this stands in the place of what is stored now. So a snapshot costs nothing to open
 * and works over every store; the writes that happen meanwhile pay for it.
 *
 *   1. A write notes what it found before it can be seen by anybody. Readers look here after they have read
 *      the store, so they miss no change.
 *   2. Answered writes have increasing numbers. A snapshot has the number of the last write that was answered
 *      when it was opened. It shows what the first write with a higher number found.
 *   3. A write that was already running when the first snapshot was opened has noted nothing. The snapshot
 *      waits for its answer (`ready`), and shows its effect.
 *   4. A document that has died is dead in snapshots as well. Readers judge the notes by their own moment.
 *   5. Only the writes of this process are noted. Gateways that share a store do not see each other's notes.
 */

import { MiB } from '../../base/limits.ts'
import type { ItemKey, StoredItem } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'

/** All notes together. If there are more, the oldest snapshot is given up: its reader must start again. */
const mongoPastBytesMax = 64 * MiB

/** What a note takes besides the document: the key twice, and the objects. */
const noteBytes = 400

export type PastItem = Pick<StoredItem, 'version' | 'ts' | 'deadline' | 'body'>

export interface PastDocument {
  readonly key: ItemKey
  /** Undefined: there was no document. */
  readonly item: PastItem | undefined
}

interface Note extends PastDocument {
  item: PastItem | undefined
  /** The number of the write. Infinite while it runs. */
  number: number
}

/** One write to the store, while snapshots are open. */
export class WatchedWrite {
  readonly notes = new Map<string, { readonly container: number; readonly note: Note }>()
  readonly #past: PastDocuments

  constructor(past: PastDocuments) {
    this.#past = past
  }

  /** Call it before the document is changed. A write that is decided again notes again. */
  note(container: number, key: ItemKey, found: PastItem | undefined): void {
    const name = `${container} ${nameOfKey(key)}`
    const known = this.notes.get(name)
    if (known !== undefined) {
      known.note.item = found
      return
    }
    const note: Note = { key, item: found, number: Number.POSITIVE_INFINITY }
    if (this.#past.keep(container, note)) this.notes.set(name, { container, note })
  }
}

export class ReadSnapshot {
  /** Undefined: it can be read at once. */
  ready: Promise<void> | undefined
  /** The last write that it shows. Infinite until it is ready. */
  number = Number.POSITIVE_INFINITY
  isLost = false
  readonly #past: PastDocuments

  constructor(past: PastDocuments) {
    this.#past = past
  }

  find(container: number, key: ItemKey): PastDocument | undefined {
    this.#check()
    return this.#past.find(this, container, nameOfKey(key))
  }

  /** What stands in the place of stored documents. */
  documents(container: number): PastDocument[] {
    this.#check()
    return this.#past.documents(this, container)
  }

  close(): void {
    this.#past.close(this)
  }

  #check(): void {
    if (this.isLost) throw new CommandError('SnapshotTooOld', 'Too much was written since the snapshot was taken.')
  }
}

export class PastDocuments {
  /** The oldest one first. */
  readonly #snapshots = new Set<ReadSnapshot>()
  readonly #notes = new Map<number, Map<string, Note[]>>()
  #number = 0
  #bytes = 0
  /** Writes that are running and note nothing. */
  #unwatched = 0
  #waiting: (() => void)[] = []

  /** Called when a write begins. Undefined: nobody wants to know. */
  begin(): WatchedWrite | undefined {
    if (this.#snapshots.size > 0) return new WatchedWrite(this)
    this.#unwatched++
    return undefined
  }

  /** Called when the write was answered. */
  end(write: WatchedWrite | undefined, isStored: boolean): void {
    if (write === undefined) {
      this.#unwatched--
      if (this.#unwatched > 0) return
      for (const wake of this.#waiting) wake()
      this.#waiting = []
      return
    }
    this.#number++
    for (const { container, note } of write.notes.values()) {
      note.number = this.#number
      if (!isStored || this.#snapshots.size === 0) this.#drop(container, note)
    }
  }

  open(): ReadSnapshot {
    const snapshot = new ReadSnapshot(this)
    this.#snapshots.add(snapshot)
    const start = () => {
      snapshot.number = this.#number
      snapshot.ready = undefined
    }
    if (this.#unwatched === 0) start()
    else snapshot.ready = new Promise<void>(resolve => this.#waiting.push(resolve)).then(start)
    return snapshot
  }

  close(snapshot: ReadSnapshot): void {
    const [oldest] = this.#snapshots
    if (this.#snapshots.delete(snapshot) && snapshot === oldest) this.#forget()
  }

  find({ number }: ReadSnapshot, container: number, name: string): PastDocument | undefined {
    return firstBehind(number, this.#notes.get(container)?.get(name) ?? [])
  }

  documents({ number }: ReadSnapshot, container: number): PastDocument[] {
    const found: PastDocument[] = []
    for (const notes of this.#notes.get(container)?.values() ?? []) {
      const note = firstBehind(number, notes)
      if (note !== undefined) found.push(note)
    }
    return found
  }

  /** False: no snapshot needs the note, because all of them show an earlier one. */
  keep(container: number, note: Note): boolean {
    let documents = this.#notes.get(container)
    if (documents === undefined) {
      documents = new Map()
      this.#notes.set(container, documents)
    }
    const name = nameOfKey(note.key)
    const present = documents.get(name)
    const newest = Math.max(...[...this.#snapshots].map(({ number }) => number))
    if (present?.some(({ number }) => number > newest && number < Number.POSITIVE_INFINITY) === true) return false
    if (present === undefined) documents.set(name, [note])
    else present.push(note)
    this.#bytes += bytesOf(note)
    while (this.#bytes > mongoPastBytesMax && this.#snapshots.size > 0) this.#giveUpOldest()
    return true
  }

  #giveUpOldest(): void {
    const [oldest] = this.#snapshots
    oldest!.isLost = true
    this.close(oldest!)
  }

  /** Forgets what no open snapshot shows. Notes of running writes stay: a new snapshot may show them. */
  #forget(): void {
    const oldest = Math.min(...[...this.#snapshots].map(({ number }) => number))
    for (const [container, documents] of this.#notes) {
      for (const notes of documents.values()) {
        for (const note of [...notes]) {
          if (note.number <= oldest && note.number < Number.POSITIVE_INFINITY) this.#drop(container, note)
        }
      }
    }
  }

  #drop(container: number, note: Note): void {
    const documents = this.#notes.get(container)
    const name = nameOfKey(note.key)
    const notes = documents?.get(name)
    const at = notes?.indexOf(note) ?? -1
    if (documents === undefined || notes === undefined || at === -1) return
    notes.splice(at, 1)
    this.#bytes -= bytesOf(note)
    if (notes.length === 0) documents.delete(name)
    if (documents.size === 0) this.#notes.delete(container)
  }
}

/** The note with the lowest number behind this one. Of those that still run, the one that came first. */
function firstBehind(number: number, notes: readonly Note[]): Note | undefined {
  let first: Note | undefined
  for (const note of notes) {
    if (note.number > number && (first === undefined || note.number < first.number)) first = note
  }
  return first
}

function bytesOf({ item }: Note): number {
  return noteBytes + (item?.body.length ?? 0)
}

export function nameOfKey({ pk, id }: ItemKey): string {
  return `${id} ${pk}`
}
