/**
 * One account for the bytes that are held for requests: bodies that are still arriving, work that is being
 * done, cursors, transactions, and answers that nobody reads.
 *
 * Every connection has a share, and all connections without a login have one together. Work that holds bytes
 * has a lease on its share, adds bytes as it grows, and gives all back when the lease is disposed of.
 *
 *   over the share of a connection    the work is refused: it needs too much (`over_memory`)
 *   over three quarters of the whole  work that holds much is refused when it needs more (`throttled`): the
 *                                     last quarter is for connections that hold little
 *   over the whole                    new work is refused (`throttled`); running work keeps its bytes
 *
 * The account counts bytes of documents, messages and answers. The process needs more for them: objects,
 * copies on their way, and garbage. So only a part of the memory budget is handed out.
 *
 * Work finds its lease in its asynchronous context (`heldHere`), so no stage, sort or page has to pass it
 * on. Each thread has an account of its own; together they have one sum, in shared memory.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { CapacityError, RequestError } from './error.ts'
import { KiB, MiB } from './limits.ts'

/** The uses of held bytes, as `/status` and `/metrics` show them. */
const memoryKinds = ['bodies', 'work', 'cursors', 'transactions', 'answers', 'threads'] as const
export type MemoryKind = (typeof memoryKinds)[number]

/** The part of the budget that is handed out (docs/reliability.md has what the process then takes). */
const countedPart = 0.5

/** The part of the account that is kept for connections that hold little. */
const lastPart = 0.25

/** The part of the account that one connection may have; and that of all connections without a login. */
const sharePart = 0.5
const strangersPart = 0.125

/** Leases count in steps. Less than one step is not counted, so that small requests cost nothing. */
const stepBytes = 16 * KiB

/** By then other requests are answered or given up. */
const retryAfterMs = 1000

/** Threads that can have a cell of the sum. */
const cellsMax = 16

/** The part of the account that another thread needs. It can be sent there. */
export interface ThreadMemory {
  readonly bytesMax: number
  readonly cells: SharedArrayBuffer
  readonly cell: number
}

export class MemoryAccount {
  readonly bytesMax: number
  readonly strangers: MemoryShare
  /** KiB that each thread holds. */
  readonly #cells: Int32Array
  readonly #cell: number
  readonly #threads = new Set<number>()
  /** No cell from here on is in use. Every request asks for the sum, and a cell costs 6 ns. */
  #cellsEnd: number
  readonly #heldBytes = new Map<MemoryKind, number>(memoryKinds.map(kind => [kind, 0]))
  readonly #shares = new WeakMap<object, MemoryShare>()
  /** Shares that hold something. */
  #holders = 0

  constructor(bytesMax: number, thread?: ThreadMemory) {
    this.bytesMax = bytesMax
    this.#cells = new Int32Array(thread?.cells ?? new SharedArrayBuffer(4 * cellsMax))
    this.#cell = thread?.cell ?? 0
    // A thread does not know which others there are.
    this.#cellsEnd = thread === undefined ? 1 : cellsMax
    this.strangers = new MemoryShare(this, bytesMax * strangersPart)
  }

  static ofBudget(budgetBytes: number): MemoryAccount {
    return new MemoryAccount(Math.floor(budgetBytes * countedPart))
  }

  /** The account of another thread, in that thread. */
  static ofThread(thread: ThreadMemory): MemoryAccount {
    return new MemoryAccount(thread.bytesMax, thread)
  }

  get heldBytes(): number {
    let held = 0
    for (let cell = 0; cell < this.#cellsEnd; cell++) held += Atomics.load(this.#cells, cell)
    return held * KiB
  }

  heldByKind(): Readonly<Record<MemoryKind, number>> {
    const held = Object.fromEntries(this.#heldBytes) as Record<MemoryKind, number>
    for (const cell of this.#threads) held.threads += Atomics.load(this.#cells, cell) * KiB
    return held
  }

  /** The share of a connection: the same for the same object. */
  shareOf(connection: object): MemoryShare {
    let share = this.#shares.get(connection)
    if (share === undefined) {
      share = this.share()
      this.#shares.set(connection, share)
    }
    return share
  }

  share(bytesMax = this.bytesMax * sharePart): MemoryShare {
    return new MemoryShare(this, bytesMax)
  }

  /** For a new thread. Disposing gives back what the thread held, also if it was killed. */
  openThread(): ThreadMemory & Disposable {
    let cell = 1
    while (this.#threads.has(cell)) cell++
    if (cell >= cellsMax) throw new RangeError(`More than ${cellsMax - 1} threads share the account.`)
    const count = () => {
      this.#cellsEnd = Math.max(0, ...this.#threads) + 1
    }
    this.#threads.add(cell)
    count()
    const end = () => {
      this.#threads.delete(cell)
      Atomics.store(this.#cells, cell, 0)
      count()
    }
    return { bytesMax: this.bytesMax, cells: this.#cells.buffer as SharedArrayBuffer, cell, [Symbol.dispose]: end }
  }

  /** Throws if new work must wait. */
  checkRoom(): void {
    if (this.heldBytes >= this.bytesMax) throw this.full()
  }

  full(): CapacityError {
    return new CapacityError(
      'throttled',
      `The server holds ${Math.round(this.heldBytes / MiB)} MB for requests, and may hold ` +
        `${Math.round(this.bytesMax / MiB)} MB, half of its memory budget (--memory-budget). Try again later.`,
      retryAfterMs,
    )
  }

  /** Whether a share that holds `heldBytes` may have more. */
  hasRoom(bytes: number, heldBytes: number): boolean {
    const all = this.heldBytes + bytes
    if (all <= this.bytesMax * (1 - lastPart)) return true
    const little = (this.bytesMax * lastPart) / (this.#holders + 1)
    return all <= this.bytesMax && heldBytes + bytes <= Math.max(stepBytes, little)
  }

  /** Only for leases. Bytes are a multiple of the step. */
  move(kind: MemoryKind, bytes: number, { before, after }: { before: number; after: number }): void {
    this.#heldBytes.set(kind, this.#heldBytes.get(kind)! + bytes)
    Atomics.add(this.#cells, this.#cell, bytes / KiB)
    if (before === 0 && after > 0) this.#holders++
    else if (before > 0 && after === 0) this.#holders--
  }
}

export class MemoryShare {
  readonly account: MemoryAccount
  readonly #bytesMax: number
  #heldBytes = 0

  constructor(account: MemoryAccount, bytesMax: number) {
    this.account = account
    this.#bytesMax = bytesMax
  }

  get freeBytes(): number {
    return Math.max(0, this.#bytesMax - this.#heldBytes)
  }

  hold(kind: MemoryKind): MemoryLease {
    return new MemoryLease(this, kind)
  }

  /** Why the share may not have more; undefined if it may. */
  refusal(bytes: number): RequestError | CapacityError | undefined {
    if (this.#heldBytes + bytes > this.#bytesMax) return overShare(this.#bytesMax)
    return this.account.hasRoom(bytes, this.#heldBytes) ? undefined : this.account.full()
  }

  /** Only for leases. */
  move(kind: MemoryKind, bytes: number): void {
    const before = this.#heldBytes
    this.#heldBytes += bytes
    this.account.move(kind, bytes, { before, after: this.#heldBytes })
  }
}

/** What somebody holds for one purpose. */
export class MemoryLease implements Disposable {
  readonly share: MemoryShare
  readonly #kind: MemoryKind
  /** The held bytes, and the bytes that are counted for them: a multiple of the step. */
  #bytes = 0
  #takenBytes = 0
  #isOver = false

  constructor(share: MemoryShare, kind: MemoryKind) {
    this.share = share
    this.#kind = kind
  }

  get bytes(): number {
    return this.#bytes
  }

  /** Throws, and takes nothing, if the share or the account has no room. */
  add(bytes: number): void {
    const refusal = this.tryAdd(bytes)
    if (refusal !== undefined) throw refusal
  }

  /** Adds bytes even if there is no room: for data that exists already and cannot be refused. */
  force(bytes: number): void {
    if (this.#isOver) return
    this.#bytes += bytes
    if (stepsFor(this.#bytes) > this.#takenBytes) this.#take(stepsFor(this.#bytes))
  }

  tryAdd(bytes: number): RequestError | CapacityError | undefined {
    if (this.#isOver) return undefined
    const wanted = stepsFor(this.#bytes + bytes)
    if (wanted > this.#takenBytes) {
      const refusal = this.share.refusal(wanted - this.#takenBytes)
      if (refusal !== undefined) return refusal
      this.#take(wanted)
    }
    this.#bytes += bytes
    return undefined
  }

  release(bytes: number): void {
    if (this.#isOver) return
    this.#bytes = Math.max(0, this.#bytes - bytes)
    const wanted = stepsFor(this.#bytes)
    // Two steps, so that a row that comes and goes changes nothing.
    if (wanted === 0 || this.#takenBytes - wanted >= 2 * stepBytes) this.#take(wanted)
  }

  /** Holds exactly this many bytes from now on. */
  set(bytes: number): void {
    if (bytes > this.#bytes) this.add(bytes - this.#bytes)
    else this.release(this.#bytes - bytes)
  }

  /** Afterwards the lease counts nothing, also if it is still used. */
  [Symbol.dispose](): void {
    if (this.#isOver) return
    this.#take(0)
    this.#bytes = 0
    this.#isOver = true
  }

  #take(bytes: number): void {
    if (bytes === this.#takenBytes) return
    this.share.move(this.#kind, bytes - this.#takenBytes)
    this.#takenBytes = bytes
  }
}

function stepsFor(bytes: number): number {
  return bytes < stepBytes ? 0 : Math.ceil(bytes / stepBytes) * stepBytes
}

function overShare(bytesMax: number): RequestError {
  return new RequestError(
    'over_memory',
    `The connection needs more than ${Math.floor(bytesMax / MiB)} MB of the server's memory, which is its share ` +
      'of the memory budget (--memory-budget). Ask for less at a time.',
  )
}

const leases = new AsyncLocalStorage<MemoryLease | undefined>()

/** Does work that holds memory on this lease. */
export function holding<T>(lease: MemoryLease | undefined, work: () => T): T {
  return leases.run(lease, work)
}

/** The lease of the work that calls this. Undefined: its bytes are not counted. */
export function heldHere(): MemoryLease | undefined {
  return leases.getStore()
}

/** A lease of its own for a part of the work. */
export function leaseHere(kind: MemoryKind): MemoryLease | undefined {
  return heldHere()?.share.hold(kind)
}
