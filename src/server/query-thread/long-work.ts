/**
 * Two threads for work that holds a thread for long: one item may cost seconds.
 *
 * Each does one piece of work at a time, so that ending its thread ends no other work. While other pieces
 * wait, a piece may run for some time. Then it is aborted, goes to the end of the queue, and gets four times
 * as much time at its next turn. So short work does not wait for long work, and at most a third of the time
 * of long work is lost. Connections take turns, so no client waits behind all the work of another.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'
import { FairQueue, type Place } from '../../base/fair-queue.ts'
import { heldHere } from '../../base/memory-account.ts'
import type { Ask } from './query-messages.ts'
import { ThreadLost, type WorkConditions, type WorkThread } from './work-thread.ts'

/** One for each of two cores; the thread of the requests has the higher priority. */
const threadsMax = 2

const firstTurnMs = 500
const turnGrowth = 4

/** A thread takes some megabytes. It ends when it had no work for this time. */
const restAfterMs = 10_000

/** The most pieces that may wait: in all, and of one connection. */
const waitingMax = 512
const waitingOfOneMax = 128

/** How often work is tried again after its thread died: the work itself may be the cause. */
const lossesMax = 1

interface Piece {
  /** The connection: its share of the memory identifies it. */
  readonly by: object | undefined
  readonly ask: Ask
  readonly conditions: WorkConditions
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  /** Runs something in the asynchronous context of the caller. */
  readonly inContext: ReturnType<typeof AsyncLocalStorage.snapshot>
  turnMs: number
  losses: number
}

/** A piece at work. */
interface Turn {
  readonly piece: Piece
  readonly thread: WorkThread
  readonly startMs: number
  readonly stop: AbortController
}

const preempted = new Error('others wait')

function placeOf(piece: Piece): Place<Piece> {
  return { entry: piece, path: [piece.by] }
}

function tooMuch(): CapacityError {
  return new CapacityError('throttled', 'Too many queries that take long are waiting.', 1000)
}

export class LongWork implements AsyncDisposable {
  readonly #threads: readonly WorkThread[]
  readonly #line = new FairQueue<Piece>()
  readonly #turns = new Set<Turn>()
  #look: NodeJS.Timeout | undefined
  #rest: NodeJS.Timeout | undefined

  constructor(makeThread: () => WorkThread) {
    this.#threads = Array.from({ length: threadsMax }, makeThread)
  }

  async do(ask: Ask, conditions: WorkConditions): Promise<unknown> {
    const by = heldHere()?.share
    if (this.#line.length >= waitingMax || this.#line.countBelow(by) >= waitingOfOneMax) throw tooMuch()
    const { promise, resolve, reject } = Promise.withResolvers<unknown>()
    const inContext = AsyncLocalStorage.snapshot()
    const piece: Piece = { by, ask, conditions, resolve, reject, inContext, turnMs: firstTurnMs, losses: 0 }
    const { signal } = conditions
    // Running pieces are ended by their threads.
    const giveUp = () => {
      if (this.#line.remove(placeOf(piece))) reject(signal?.reason)
    }
    signal?.addEventListener('abort', giveUp)
    this.#line.add(placeOf(piece))
    this.#proceed()
    try {
      return await promise
    } finally {
      signal?.removeEventListener('abort', giveUp)
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    machine.clearTimeout(this.#look)
    machine.clearTimeout(this.#rest)
    await Promise.all(this.#threads.map(thread => thread[Symbol.asyncDispose]()))
    this.#proceed()
  }

  #proceed(): void {
    machine.clearTimeout(this.#look)
    machine.clearTimeout(this.#rest)
    while (this.#line.length > 0) {
      const busy = new Set([...this.#turns].map(({ thread }) => thread))
      const free = this.#threads.filter(thread => !busy.has(thread))
      const thread = free.find(({ isIdle }) => isIdle) ?? free[0]
      if (thread === undefined) break
      void this.#run(this.#line.take()!, thread)
    }
    if (this.#line.length > 0) this.#makeRoom()
    else if (this.#turns.size === 0) this.#rest = machine.setTimeout(() => this.#letRest(), restAfterMs).unref()
  }

  /** Ends the turns whose time is over, and looks again when the next may be over. */
  #makeRoom(): void {
    const leftMs = [...this.#turns].map(turn => turn.startMs + turn.piece.turnMs - machine.monotonicMs())
    for (const [at, turn] of [...this.#turns].entries()) if (leftMs[at]! <= 0) turn.stop.abort(preempted)
    const soonMs = Math.max(1, Math.min(firstTurnMs, ...leftMs.filter(left => left > 0)))
    this.#look = machine.setTimeout(() => this.#proceed(), soonMs).unref()
  }

  async #run(piece: Piece, thread: WorkThread): Promise<void> {
    const { signal } = piece.conditions
    const stop = new AbortController()
    const turn: Turn = { piece, thread, stop, startMs: machine.monotonicMs() }
    this.#turns.add(turn)
    try {
      const both = signal === undefined ? stop.signal : AbortSignal.any([signal, stop.signal])
      piece.resolve(await piece.inContext(() => thread.ask(piece.ask, { ...piece.conditions, signal: both })))
    } catch (error) {
      if (error === preempted) {
        piece.turnMs *= turnGrowth
        this.#line.add(placeOf(piece))
      } else if (error instanceof ThreadLost && (error.isForOthers || piece.losses++ < lossesMax))
        this.#line.add(placeOf(piece))
      else piece.reject(error)
    } finally {
      this.#turns.delete(turn)
      this.#proceed()
    }
  }

  #letRest(): void {
    for (const thread of this.#threads) thread.rest()
  }
}
