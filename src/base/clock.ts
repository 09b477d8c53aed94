/**
 * The only file that reads the time: item time and machine time.
 *
 * These are two kinds of time, kept apart:
 *
 *   item time     `Clock.now()`, whole seconds. Decides `_ts`, deadlines and which items are alive. It never
 *                 decreases, not even across restarts (the store keeps a high-water mark). Tests can move it.
 *                 `Clock.nowMs()` is the same time in milliseconds, for dates that users see; it decides
 *                 nothing.
 *   machine time  `machine.*`, milliseconds. For signature dates, sockets, budgets and timers. It is always
 *                 real, also when item time is moved by hand.
 *
 * The functions of `machine` are captured when this module loads. So a test that replaces the global timers
 * or `Date` does not stop a database in the same process.
 */

import { assert, RequestError } from './error.ts'

declare const epochSeconds: unique symbol

/** Whole seconds since 1970. */
export type EpochSeconds = number & { readonly [epochSeconds]: true }

export function toEpochSeconds(value: number): EpochSeconds {
  assert(Number.isSafeInteger(value), `${value} is not a whole number of seconds`)
  return value as EpochSeconds
}

const real = { setTimeout, clearTimeout, setInterval, clearInterval, setImmediate }
const RealDate = Date
const realPerformance = performance

export const machine = {
  epochMs: (): number => RealDate.now(),
  /** The time by the global `Date`. Differs from `epochMs` only if a test has replaced `Date`. */
  believedEpochMs: (): number => globalThis.Date.now(),
  monotonicMs: (): number => realPerformance.now(),
  parseHttpDateMs: (text: string): number => RealDate.parse(text),
  setTimeout: (work: () => void, ms: number): NodeJS.Timeout => real.setTimeout(work, ms),
  clearTimeout: (timer: NodeJS.Timeout | undefined): void => real.clearTimeout(timer),
  setInterval: (work: () => void, ms: number): NodeJS.Timeout => real.setInterval(work, ms),
  clearInterval: (timer: NodeJS.Timeout): void => real.clearInterval(timer),
  setImmediate: (work: () => void): NodeJS.Immediate => real.setImmediate(work),
}

export type ClockMode = 'system' | 'manual'

export interface Clock {
  readonly mode: ClockMode
  now(): EpochSeconds
  /** The same in whole milliseconds. */
  nowMs(): number
}

/** The clock's milliseconds, kept within the second that a store gave to an operation. */
export function epochMsWithin(moment: EpochSeconds, clock: Clock): number {
  return Math.min(Math.max(clock.nowMs(), moment * 1000), moment * 1000 + 999)
}

/**
 * The system's time, made monotonic.
 *
 * If the wall clock is set back, item time continues from its last value at the monotonic rate. If the wall
 * clock is set forward, item time follows.
 */
export class SystemClock implements Clock {
  readonly mode = 'system'
  #lastMs: number
  #lastMonotonicMs: number
  readonly #source: { epochMs(): number; monotonicMs(): number }

  constructor(highWaterMark: EpochSeconds, source: { epochMs(): number; monotonicMs(): number } = machine) {
    this.#source = source
    this.#lastMs = Math.max(highWaterMark * 1000, source.epochMs())
    this.#lastMonotonicMs = source.monotonicMs()
  }

  now(): EpochSeconds {
    return Math.floor(this.nowMs() / 1000) as EpochSeconds
  }

  nowMs(): number {
    const wallMs = this.#source.epochMs()
    const monotonicMs = this.#source.monotonicMs()
    this.#lastMs = Math.max(wallMs, this.#lastMs + Math.max(0, monotonicMs - this.#lastMonotonicMs))
    this.#lastMonotonicMs = monotonicMs
    return Math.floor(this.#lastMs)
  }
}

/** A clock that moves only when told, and only forward, by whole seconds. */
export class ManualClock implements Clock {
  readonly mode = 'manual'
  #now: EpochSeconds

  constructor(start: EpochSeconds) {
    this.#now = start
  }

  now(): EpochSeconds {
    return this.#now
  }

  nowMs(): number {
    return this.#now * 1000
  }

  advance(seconds: number): EpochSeconds {
    return this.set(this.#now + seconds)
  }

  set(epochSeconds: number): EpochSeconds {
    if (!Number.isSafeInteger(epochSeconds)) {
      throw new RequestError('malformed', `The clock takes whole seconds since 1970, not ${epochSeconds}.`)
    }
    if (epochSeconds < this.#now) {
      throw new RequestError(
        'malformed',
        `The clock stands at ${this.#now} and never goes back; ${epochSeconds} is earlier.`,
      )
    }
    this.#now = epochSeconds as EpochSeconds
    return this.#now
  }
}
