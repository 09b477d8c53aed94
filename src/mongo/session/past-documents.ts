/**
 * Keeps the earlier states of changed documents, as long as a client reads a snapshot.
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

/** The most notes that are forgotten at once: a millisecond of work. */
const notesForgottenMax = 1000

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
      this.#past.renote(known.note, found)
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

  /** What stands in the place of stored documents, by `nameOfKey`. */
  documents(container: number): Map<string, PastDocument> {
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
  /** The oldest one first, so their numbers never decrease. */
  readonly #snapshots = new Set<ReadSnapshot>()
  readonly #running = new Set<WatchedWrite>()
  #notes = new Map<number, Map<string, Note[]>>()
  /** The notes of answered writes, in the order of their numbers, from `#forgotten` on. */
  #answered: { readonly container: number; readonly note: Note }[] = []
  #forgotten = 0
  #number = 0
  #bytes = 0
  /** The number of the snapshot that was opened last. */
  #newest = 0
  /** Writes that are running and note nothing. */
  #unwatched = 0
  #waiting: (() => void)[] = []

  /** Called when a write begins. Undefined: no snapshot is being read. */
  begin(): WatchedWrite | undefined {
    if (this.#snapshots.size > 0) {
      const write = new WatchedWrite(this)
      this.#running.add(write)
      return write
    }
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
    this.#running.delete(write)
    this.#number++
    for (const noted of write.notes.values()) {
      noted.note.number = this.#number
      if (isStored && this.#snapshots.size > 0) this.#answered.push(noted)
      else this.#drop(noted.container, noted.note)
    }
  }

  open(): ReadSnapshot {
    const snapshot = new ReadSnapshot(this)
    this.#snapshots.add(snapshot)
    const start = () => {
      snapshot.number = this.#number
      snapshot.ready = undefined
      this.#newest = this.#number
    }
    if (this.#unwatched === 0) start()
    else snapshot.ready = new Promise<void>(resolve => this.#waiting.push(resolve)).then(start)
    return snapshot
  }

  close(snapshot: ReadSnapshot): void {
    this.#snapshots.delete(snapshot)
    if (this.#snapshots.size === 0) this.#forgetAll()
    else this.#forget(notesForgottenMax)
  }

  find({ number }: ReadSnapshot, container: number, name: string): PastDocument | undefined {
    return firstBehind(number, this.#notes.get(container)?.get(name) ?? [])
  }

  documents({ number }: ReadSnapshot, container: number): Map<string, PastDocument> {
    const found = new Map<string, PastDocument>()
    for (const [name, notes] of this.#notes.get(container) ?? []) {
      const note = firstBehind(number, notes)
      if (note !== undefined) found.set(name, note)
    }
    return found
  }

  /** False: no snapshot needs the note, because all of them show an earlier one. */
  keep(container: number, note: Note): boolean {
    // A write that was answered behind the newest snapshot is behind all of them.
    const isNeedless = ({ number }: Note) => number > this.#newest && number < Number.POSITIVE_INFINITY
    const present = this.#notes.get(container)?.get(nameOfKey(note.key))
    if (this.#waiting.length === 0 && present?.some(isNeedless) === true) return false
    this.#add(container, note)
    this.#forget(2)
    while (this.#bytes > mongoPastBytesMax && this.#snapshots.size > 0) {
      const before = this.#bytes
      this.#forget(notesForgottenMax)
      if (this.#bytes === before) this.#giveUpOldest()
    }
    return true
  }

  renote(note: Note, found: PastItem | undefined): void {
    this.#bytes -= bytesOf(note)
    note.item = found
    this.#bytes += bytesOf(note)
  }

  #giveUpOldest(): void {
    const [oldest] = this.#snapshots
    oldest!.isLost = true
    this.close(oldest!)
  }

  /** Forgets some of the notes that no open snapshot shows. Those that are left do no harm. */
  #forget(notesMax: number): void {
    const [oldest] = this.#snapshots
    const end = Math.min(this.#answered.length, this.#forgotten + notesMax)
    for (; this.#forgotten < end; this.#forgotten++) {
      const { container, note } = this.#answered[this.#forgotten]!
      if (note.number > oldest!.number) break
      this.#drop(container, note)
    }
    if (this.#forgotten < this.#answered.length / 2) return
    this.#answered = this.#answered.slice(this.#forgotten)
    this.#forgotten = 0
  }

  /** Notes of running writes stay: a new snapshot may show them. */
  #forgetAll(): void {
    this.#notes = new Map()
    this.#answered = []
    this.#forgotten = 0
    this.#bytes = 0
    for (const { notes } of this.#running) for (const { container, note } of notes.values()) this.#add(container, note)
  }

  #add(container: number, note: Note): void {
    let documents = this.#notes.get(container)
    if (documents === undefined) {
      documents = new Map()
      this.#notes.set(container, documents)
    }
    const name = nameOfKey(note.key)
    const present = documents.get(name)
    if (present === undefined) documents.set(name, [note])
    else present.push(note)
    this.#bytes += bytesOf(note)
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
