/**
 * Work that can be aborted anywhere: evaluators of both query languages count their steps, and the work ends
 * in the middle of an item if it holds its thread for too long, or if the client does not wait any more.
 *
 *   evaluators      call `spend` in every loop whose length a client can choose
 *   their caller    calls `watched` with a watch, which is asked now and then, and throws to end the work
 *
 * Evaluation is pure, so aborted work can be done again in another place, which has more time:
 *
 *   thread of the requests   a few milliseconds at a time, then `WorkTooLong`
 *   query thread             as long as others in it do not wait too long, then `WorkTooLong`
 *   thread of its own        until the work is done, or its caller's time is over
 *
 * A step is the work on one element, character or candidate: about 10 to 100 nanoseconds. No evaluator has
 * to pass the watch on. It belongs to the asynchronous context, so it also watches what the work does after
 * it has waited for something.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { machine } from './clock.ts'

/** A look at the clock takes 50 ns. With this many steps between two, they cannot be measured. */
const stepsPerLook = 500

/** A low estimate: of the fastest steps, more fit into a millisecond. */
const stepsPerMs = 50_000

export interface WorkWatch {
  /** Throws if the work must end now, or would last too long with so many steps more. */
  look(stepsAhead: number): void
  /** The work must be short wherever it runs, such as parsing. It cannot go on in another place. */
  readonly isShort?: boolean
}

/** The work takes too long for this place. It was aborted, and must be done again in another. */
export class WorkTooLong extends Error {
  override readonly name = 'WorkTooLong'
}

const watches = new AsyncLocalStorage<WorkWatch | undefined>()
let stepsLeft = stepsPerLook

/** Counts work: before it is done, if one step is many. Throws what the watch of the work throws. */
export function spend(steps: number): void {
  stepsLeft -= steps
  if (stepsLeft > 0) return
  stepsLeft = stepsPerLook
  watches.getStore()?.look(steps)
}

/** Asks the watch between two slices of work. */
export function lookAtWork(): void {
  watches.getStore()?.look(0)
}

/** What watches the work that runs now. */
export function currentWatch(): WorkWatch | undefined {
  return watches.getStore()
}

/** Whether something watches what runs now. */
export function isWatched(): boolean {
  return watches.getStore() !== undefined
}

/** Whether work that takes long may begin: if it takes too long here, its watch sends it elsewhere. */
export function mayTakeLong(): boolean {
  const watch = watches.getStore()
  return watch !== undefined && watch.isShort !== true
}

/** Does work under a watch. Without one, nothing ends it. Costs 150 ns. */
export function watched<T>(by: WorkWatch | undefined, work: () => T): T {
  return watches.run(by, work)
}

/** Does work that is not part of the watched work which has caused it, such as the writes of others. */
export function unwatched<T>(work: () => T): T {
  return isWatched() ? watches.run(undefined, work) : work()
}

/** Lets work hold its thread for some time in each turn of the event loop. */
export class HoldWatch implements WorkWatch {
  readonly #msMax: number
  /** Of the first look in this turn. */
  #startMs: number | undefined

  constructor(msMax: number) {
    this.#msMax = msMax
  }

  look(stepsAhead: number): void {
    if (stepsAhead > this.#msMax * stepsPerMs) throw new WorkTooLong()
    if (this.#startMs === undefined) {
      this.#startMs = machine.monotonicMs()
      machine.setImmediate(() => {
        this.#startMs = undefined
      })
    } else if (machine.monotonicMs() - this.#startMs > this.#msMax) throw new WorkTooLong()
  }
}

/**
 * Limits the number of steps, approximately, in any place. Then the error is thrown. An `outer` watch is
 * asked too.
 */
export class StepWatch implements WorkWatch {
  readonly isShort = true
  #left: number
  readonly #refusal: () => Error
  readonly #outer: WorkWatch | undefined

  constructor(stepsMax: number, refusal: () => Error, outer?: WorkWatch) {
    this.#left = stepsMax
    this.#refusal = refusal
    this.#outer = outer
  }

  look(stepsAhead: number): void {
    this.#left -= Math.max(stepsPerLook, stepsAhead)
    if (this.#left < 0) throw this.#refusal()
    this.#outer?.look(stepsAhead)
  }
}
