/**
 * The only file that reads the time: item time, sure time and machine time.
 *
 * These are kinds of time, kept apart:
 *
 *   item time     `Clock.now()`, whole seconds. Decides `_ts`, deadlines and which items are alive. It never
 *                 decreases, not even across restarts (the store keeps a high-water mark), except when it is
 *                 in doubt (see `SystemClock`). Tests can move it. `Clock.nowMs()` is the same time in
 *                 milliseconds, for dates that users see; it decides nothing.
 *   sure time     `Clock.sure()`. The same as item time, or earlier while item time is in doubt. Decides what
 *                 may be removed.
 *   machine time  `machine.*`, milliseconds. For signature dates, sockets, budgets and timers. It is always
 *                 real, also when item time is moved by hand.
 *
 * The functions of `machine` are captured when this module loads. So a test that replaces the global timers
 * or `Date` does not stop a database in the same process.
 */

import { uptime } from 'node:os'
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
  /** Counts the time in which the machine slept, which the monotonic time does not. Costs a system call. */
  uptimeMs: (): number => uptime() * 1000,
  parseHttpDateMs: (text: string): number => RealDate.parse(text),
  setTimeout: (work: () => void, ms: number): NodeJS.Timeout => real.setTimeout(work, ms),
  clearTimeout: (timer: NodeJS.Timeout | undefined): void => real.clearTimeout(timer),
  setInterval: (work: () => void, ms: number): NodeJS.Timeout => real.setInterval(work, ms),
  clearInterval: (timer: NodeJS.Timeout): void => real.clearInterval(timer),
  setImmediate: (work: () => void): NodeJS.Immediate => real.setImmediate(work),
}

export type ClockMode = 'system' | 'manual'

/**
 * Doubt about item time: the machine's clock shows a time that neither running nor sleeping explains. It
 * lasts until the clock comes back or is trusted.
 */
export interface Doubt {
  /**
   * `step`: the clock jumped while the server ran. `start`: the server was started long after its last use.
   */
  readonly kind: 'step' | 'start'
  /** The item time at which it began. */
  readonly since: EpochSeconds
}

/** The state of the clock that a store keeps. */
export interface StoredTime {
  /** The latest item time that was used; 0 in a new store. */
  readonly mark: EpochSeconds
  /** The sure time at that moment, while item time is in doubt. */
  readonly sure?: EpochSeconds | undefined
  readonly doubt?: Doubt | undefined
}

export interface Clock {
  readonly mode: ClockMode
  now(): EpochSeconds
  /** The same in whole milliseconds. */
  nowMs(): number
  /** Sure time, as of the last call of `now`. Never after it. */
  sure(): EpochSeconds
  readonly doubt: Doubt | undefined
  /** The item time at which the doubt ends by itself. Undefined: a person must trust the time. */
  readonly doubtEndsAt: EpochSeconds | undefined
  /** Forward steps up to this are believed. */
  readonly stepSecondsMax: number
  /** How often item time went back. */
  readonly returns: number
  /** By how many seconds it went back last. */
  readonly returnedSeconds: number
  /** Called when a person confirms item time: it is sure from now on. */
  trust(): void
}

/** The clock's milliseconds, kept within the second that a store gave to an operation. */
export function epochMsWithin(moment: EpochSeconds, clock: Clock): number {
  return Math.min(Math.max(clock.nowMs(), moment * 1000), moment * 1000 + 999)
}

/** Where a system clock reads the time. Tests give their own. */
export type TimeSource = Pick<typeof machine, 'epochMs' | 'monotonicMs' | 'uptimeMs'>

/** What happens to a system clock, for the log. */
export interface ClockEvent {
  /** `doubted`: a doubt began. `returned`: item time went back. `trusted`: the doubt is over. */
  readonly kind: 'doubted' | 'returned' | 'trusted'
  readonly doubt: Doubt
  readonly now: EpochSeconds
  readonly sure: EpochSeconds
  /** Otherwise a person must trust the time. */
  readonly endsByItself: boolean
}

export interface SystemClockOptions {
  readonly source?: TimeSource
  /** A forward step of the wall clock up to this is believed. */
  readonly stepSecondsMax?: number
  readonly onEvent?: (event: ClockEvent) => void
}

/** The default of `stepSecondsMax`: more than any correction by a time server that works. */
const stepSecondsDefault = 300

/** A server may be down for up to this long. After a longer time a person should check the clock. */
const downSecondsMax = 7 * 86_400

/**
 * The system's time, made monotonic and protected against wrong jumps.
 *
 * If the wall clock is set back, item time continues from its last value at the monotonic rate. If the wall
 * clock is set forward, item time follows at once. If it jumps further than monotonic time and the bound
 * explain, item time is in doubt, and sure time goes on at the monotonic rate. The doubt ends in one of
 * these ways:
 *
 *   - The wall clock comes back to within the bound of sure time. Item time goes back with it.
 *   - A person trusts it. Sure time becomes item time.
 *   - It began with the start of the server, after at most seven days without one, and the server has run
 *     for the bound: a wrong clock would have been corrected by now.
 *
 * While in doubt, item time also follows a wall clock that goes back by more than the bound, but never to
 * before sure time. A machine that slept is no doubt: its uptime counts the sleep.
 */
export class SystemClock implements Clock {
  readonly mode = 'system'
  readonly stepSecondsMax: number
  doubt: Doubt | undefined
  returns = 0
  returnedSeconds = 0
  readonly #source: TimeSource
  readonly #boundMs: number
  readonly #onEvent: (event: ClockEvent) => void
  #lastMs: number
  #lastMonotonicMs: number
  /** Used while in doubt only. */
  #sureMs: number
  /** Uptime less monotonic time: the offset of their starts, and the sleep so far. */
  #uptimeAheadMs: number
  #uptimeAskedMs: number
  /** Item time less monotonic time, when the uptime was asked last without doubt. */
  #itemAheadMs: number
  /** The monotonic time at which a doubt of kind `start` ends by itself. */
  #trustAtMs: number | undefined

  constructor(
    { mark, sure = mark, doubt }: StoredTime,
    { source = machine, stepSecondsMax = stepSecondsDefault, onEvent = () => {} }: SystemClockOptions = {},
  ) {
    this.#source = source
    this.#onEvent = onEvent
    this.stepSecondsMax = stepSecondsMax
    this.#boundMs = stepSecondsMax * 1000
    const wallMs = source.epochMs()
    const monotonicMs = source.monotonicMs()
    this.#lastMonotonicMs = monotonicMs
    this.#uptimeAheadMs = source.uptimeMs() - monotonicMs
    this.#uptimeAskedMs = monotonicMs
    this.#sureMs = sure * 1000
    this.#lastMs = Math.max(mark * 1000, wallMs)
    this.#itemAheadMs = this.#lastMs - monotonicMs
    if (mark === 0 || (doubt === undefined && wallMs <= mark * 1000 + this.#boundMs)) return
    // Behind the stored mark the clock was corrected while the server was down; what is left may be down
    // time.
    const isStep = doubt?.kind === 'step' && wallMs >= mark * 1000 - this.#boundMs
    this.doubt = isStep ? doubt : { kind: 'start', since: Math.floor(this.#lastMs / 1000) as EpochSeconds }
    if (doubt !== undefined) this.#follow(wallMs, this.#lastMs)
    if (this.doubt?.kind === 'start' && this.#lastMs - this.#sureMs <= downSecondsMax * 1000) {
      this.#trustAtMs = monotonicMs + this.#boundMs
    }
    if (this.doubt !== undefined) this.#tell('doubted', this.doubt)
  }

  now(): EpochSeconds {
    return Math.floor(this.nowMs() / 1000) as EpochSeconds
  }

  nowMs(): number {
    const wallMs = this.#source.epochMs()
    const monotonicMs = this.#source.monotonicMs()
    const expectedMs = this.#lastMs + Math.max(0, monotonicMs - this.#lastMonotonicMs)
    this.#lastMonotonicMs = monotonicMs
    if (this.doubt === undefined && wallMs <= expectedMs + this.#boundMs) {
      this.#lastMs = Math.max(wallMs, expectedMs)
    } else {
      this.#judge(wallMs, monotonicMs, expectedMs)
    }
    return Math.floor(this.#lastMs)
  }

  sure(): EpochSeconds {
    return Math.floor((this.doubt === undefined ? this.#lastMs : this.#sureMs) / 1000) as EpochSeconds
  }

  get doubtEndsAt(): EpochSeconds | undefined {
    if (this.#trustAtMs === undefined) return undefined
    return Math.ceil((this.#lastMs + this.#trustAtMs - this.#lastMonotonicMs) / 1000) as EpochSeconds
  }

  trust(): void {
    const { doubt } = this
    if (doubt === undefined) return
    this.nowMs()
    this.#end('trusted', doubt)
  }

  #judge(wallMs: number, monotonicMs: number, expectedMs: number): void {
    if (this.doubt === undefined) {
      // Item time has followed short sleeps already, by the wall clock.
      const followedMs = expectedMs - this.#itemAheadMs - monotonicMs
      const explainedMs = expectedMs + Math.max(0, this.#sleptMs(monotonicMs) - followedMs)
      this.#itemAheadMs = wallMs - monotonicMs
      this.#lastMs = wallMs
      if (wallMs <= explainedMs + this.#boundMs) return
      this.#sureMs = explainedMs
      this.doubt = { kind: 'step', since: Math.floor(wallMs / 1000) as EpochSeconds }
      this.#trustAtMs = undefined
      this.#tell('doubted', this.doubt)
      return
    }
    const mayHaveSlept = monotonicMs - this.#uptimeAskedMs >= 1000 || wallMs > expectedMs + this.#boundMs
    const sleptMs = mayHaveSlept ? this.#sleptMs(monotonicMs) : 0
    this.#sureMs += expectedMs - this.#lastMs + sleptMs
    this.#follow(wallMs, expectedMs + sleptMs)
    if (this.doubt !== undefined && this.#trustAtMs !== undefined && monotonicMs >= this.#trustAtMs) {
      this.#end('trusted', this.doubt)
    }
  }

  /** Follows the wall clock while in doubt. */
  #follow(wallMs: number, expectedMs: number): void {
    const doubt = this.doubt!
    const isBack = wallMs <= this.#sureMs + this.#boundMs
    if (!isBack && wallMs >= expectedMs - this.#boundMs) {
      // Another jump: from a doubt at the start, a person must decide now.
      if (wallMs > expectedMs + this.#boundMs) {
        this.#trustAtMs = undefined
        this.doubt = { ...doubt, kind: 'step' }
      }
      this.#lastMs = Math.max(wallMs, expectedMs)
      return
    }
    this.#lastMs = Math.max(wallMs, this.#sureMs)
    this.returns++
    this.returnedSeconds = Math.floor((expectedMs - this.#lastMs) / 1000)
    if (isBack) this.#end('returned', doubt)
    else this.#tell('returned', doubt)
  }

  #end(kind: ClockEvent['kind'], doubt: Doubt): void {
    this.doubt = undefined
    this.#trustAtMs = undefined
    this.#itemAheadMs = this.#lastMs - this.#lastMonotonicMs
    this.#uptimeAheadMs = this.#source.uptimeMs() - this.#lastMonotonicMs
    this.#tell(kind, doubt)
  }

  #tell(kind: ClockEvent['kind'], doubt: Doubt): void {
    const now = Math.floor(this.#lastMs / 1000) as EpochSeconds
    this.#onEvent({ kind, doubt, now, sure: this.sure(), endsByItself: this.#trustAtMs !== undefined })
  }

  /** How long the machine slept since it was last asked. */
  #sleptMs(monotonicMs: number): number {
    this.#uptimeAskedMs = monotonicMs
    const sleptMs = this.#source.uptimeMs() - monotonicMs - this.#uptimeAheadMs
    // The uptime is given in hundredths of a second, or coarser.
    if (sleptMs < uptimeCoarseMs) return 0
    this.#uptimeAheadMs += sleptMs
    return sleptMs
  }
}

const uptimeCoarseMs = 2000

/** The end of the year 9999. Later times have no text as a date. */
export const manualSecondMax = 253_402_300_799

/** A clock that moves only when told, and only forward, by whole seconds. */
export class ManualClock implements Clock {
  readonly mode = 'manual'
  readonly doubt = undefined
  readonly doubtEndsAt = undefined
  readonly stepSecondsMax = Number.MAX_SAFE_INTEGER
  readonly returns = 0
  readonly returnedSeconds = 0
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

  sure(): EpochSeconds {
    return this.#now
  }

  trust(): void {}

  advance(seconds: number): EpochSeconds {
    return this.set(this.#now + seconds)
  }

  set(epochSeconds: number): EpochSeconds {
    if (!Number.isSafeInteger(epochSeconds)) {
      throw new RequestError('malformed', `The clock takes whole seconds since 1970, not ${epochSeconds}.`)
    }
    if (epochSeconds > manualSecondMax) {
      const end = `${manualSecondMax}, the end of the year 9999`
      throw new RequestError('malformed', `The clock goes to ${end}; ${epochSeconds} is later.`)
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
