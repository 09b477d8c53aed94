/**
 * Decides whose scripts run next, and for how long while others wait.
 *
 * There are a few threads, and a script cannot be paused and continued. But it changes nothing before it
 * ends, so it can be stopped and run again from the start. That is how the threads are shared:
 *
 *   - While no other script waits, a script runs until its time limit.
 *   - When another waits for a thread, a run that has had its slice is displaced: it is stopped, and waits
 *     for a longer slice. The last slice is as long as the time limit, so every script gets through.
 *   - Short slices go first. Runs with long slices never have all threads, and always one if they want it. So
 *     a script of some milliseconds waits for a short slice at most, whatever the others do.
 *   - Containers, partition keys and connections take turns (`fair-queue.ts`).
 *
 * A script that is displaced at the end of each limited slice has spent less than a third of its time limit
 * in vain.
 */

import { machine } from '../base/clock.ts'
import { CapacityError } from '../base/error.ts'
import { FairQueue, type Place } from '../base/fair-queue.ts'
import type { ScriptHost } from './host.ts'
import { timeOver } from './script-error.ts'
import { type RunDone, ScriptThreadLink } from './script-thread-link.ts'
import type { RunMessage } from './thread-messages.ts'

/** Threads that run scripts: two for long ones, and one that only short ones use. */
export const scriptThreadsMax = 3

/** The slice of each level: how long a run may take while others wait. */
export const scriptSlicesMs: readonly number[] = [50, 250, 1000, Number.POSITIVE_INFINITY]

/** Runs from this level on leave one thread to the others. */
const longLevel = 2

/** Runs that may wait for a thread: in all, and of one container. */
export const scriptRunsWaitingMax = 256
export const scriptRunsOfContainerMax = 128

/** The longest wait for a thread. After it, the caller is told that there are too many scripts. */
const scriptWaitMsMax = 15_000

/** The threads end when no script ran for this time: each may have 64 MB, and starts again in some 50 ms. */
export const scriptRestAfterMs = 15_000

export interface TurnCaller {
  /** Where it waits: container, partition key, connection. */
  readonly path: readonly unknown[]
  /** Aborted when the client does not wait for the result any more. */
  readonly gone?: AbortSignal | undefined
  /** The time limit of all scripts of one turn together. */
  readonly msMax: number
}

/** Gets its turn, or the reason why it gets none. */
type Waiting = (turn: ScriptTurn | Error) => void

/** Never reaches a caller: the work is done again. */
const displaced = new CapacityError('unavailable', 'The script was displaced.', 0)

/** A thread, for one caller and for a while. */
export class ScriptTurn {
  readonly level: number
  readonly link: ScriptThreadLink
  readonly #over = new AbortController()
  readonly #release: () => void
  #startMs: number | undefined
  #endMs = Number.POSITIVE_INFINITY
  #timer: NodeJS.Timeout | undefined
  #gone: AbortSignal | undefined
  #isReleased = false

  constructor(link: ScriptThreadLink, level: number, release: () => void) {
    this.link = link
    this.level = level
    this.#release = release
  }

  /** The time limit counts from here, not while the thread starts. */
  async begin({ gone, msMax }: TurnCaller): Promise<void> {
    await this.link.ready()
    this.#startMs = machine.monotonicMs()
    this.#endMs = this.#startMs + msMax
    this.#timer = machine.setTimeout(() => this.stop(timeOver()), msMax)
    this.#gone = gone
    gone?.addEventListener('abort', this.#onGone)
    if (gone?.aborted) this.#onGone()
  }

  /** Aborted when the turn must end: its time is over, the caller has gone, or others wait. */
  get signal(): AbortSignal {
    return this.#over.signal
  }

  get elapsedMs(): number {
    return this.#startMs === undefined ? 0 : machine.monotonicMs() - this.#startMs
  }

  get isLong(): boolean {
    return this.level >= longLevel
  }

  get isStopped(): boolean {
    return this.#over.signal.aborted
  }

  get isDisplaced(): boolean {
    return this.#over.signal.reason === displaced
  }

  run(message: Omit<RunMessage, 'kind' | 'run' | 'msMax'>, host: ScriptHost): Promise<RunDone> {
    return this.link.run({ ...message, msMax: this.#endMs - machine.monotonicMs() }, host, this.signal)
  }

  /** Throws if the work must not be committed: it took too long, or the client has gone. */
  check(): void {
    if (machine.monotonicMs() > this.#endMs) throw timeOver()
    this.#gone?.throwIfAborted()
    if (!this.isDisplaced) this.signal.throwIfAborted()
  }

  /** Gives back the thread: no script of this turn runs any more. */
  end(): void {
    if (this.#isReleased) return
    this.#isReleased = true
    machine.clearTimeout(this.#timer)
    this.#gone?.removeEventListener('abort', this.#onGone)
    this.#release()
  }

  stop(reason: Error): void {
    if (!this.#isReleased) this.#over.abort(reason)
  }

  readonly #onGone = (): void => this.stop(this.#gone!.reason)
}

export class ScriptTurns implements AsyncDisposable {
  readonly #links = Array.from({ length: scriptThreadsMax }, () => new ScriptThreadLink())
  readonly #idle = [...this.#links]
  readonly #running = new Set<ScriptTurn>()
  /** One queue for each slice. */
  readonly #queues = scriptSlicesMs.map(() => new FairQueue<Waiting>())
  #nextShare: NodeJS.Timeout | undefined
  #rest: NodeJS.Timeout | undefined
  #isClosed = false

  /** The work may be done several times, each time from the start. */
  async take<T>(caller: TurnCaller, work: (turn: ScriptTurn) => Promise<T>): Promise<T> {
    const waitUntilMs = machine.monotonicMs() + scriptWaitMsMax
    for (let level = 0; ; ) {
      const turn = await this.#wait(caller, level, waitUntilMs)
      try {
        await turn.begin(caller)
        return await work(turn)
      } catch (error) {
        if (this.#isClosed) throw closed()
        if (!turn.isDisplaced) throw error
        level = scriptSlicesMs.findIndex(ms => ms > turn.elapsedMs)
      } finally {
        turn.end()
      }
    }
  }

  /** Running and waiting runs are cancelled. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    machine.clearTimeout(this.#rest)
    for (const queue of this.#queues) {
      for (let next = queue.take(); next !== undefined; next = queue.take()) next(closed())
    }
    for (const turn of this.#running) turn.stop(closed())
    await Promise.all(this.#links.map(link => link[Symbol.asyncDispose]()))
  }

  async #wait({ path, gone }: TurnCaller, level: number, waitUntilMs: number): Promise<ScriptTurn> {
    if (this.#isClosed) throw closed()
    gone?.throwIfAborted()
    const waiting = this.#queues.reduce((sum, queue) => sum + queue.length, 0)
    const ofContainer = this.#queues.reduce((sum, queue) => sum + queue.countBelow(path[0]), 0)
    if (waiting >= scriptRunsWaitingMax || ofContainer >= scriptRunsOfContainerMax) throw tooMany()
    const { promise, resolve, reject } = Promise.withResolvers<ScriptTurn>()
    const place: Place<Waiting> = { entry: turn => (turn instanceof Error ? reject(turn) : resolve(turn)), path }
    const queue = this.#queues[level]!
    const giveUp = (reason: Error) => {
      if (queue.remove(place)) reject(reason)
    }
    const onGone = () => giveUp(gone!.reason)
    const timer = machine.setTimeout(() => giveUp(tooMany()), waitUntilMs - machine.monotonicMs())
    gone?.addEventListener('abort', onGone)
    queue.add(place)
    this.#share()
    try {
      return await promise
    } finally {
      machine.clearTimeout(timer)
      gone?.removeEventListener('abort', onGone)
    }
  }

  /** Gives idle threads to those who wait, and takes threads from runs that have had their slice. */
  #share(): void {
    machine.clearTimeout(this.#nextShare)
    for (let level = this.#nextLevel(); level !== undefined; level = this.#nextLevel()) this.#start(level)
    if (this.#isClosed) return
    let short = this.#waiting(0, longLevel)
    let long = this.#waiting(longLevel, this.#queues.length)
    for (const turn of this.#running) {
      if (!turn.isStopped) continue
      if (short > 0) short -= 1
      else if (turn.isLong) long -= 1
    }
    let nextMs = Number.POSITIVE_INFINITY
    for (const turn of [...this.#running].sort((a, b) => b.elapsedMs - a.elapsedMs)) {
      const isWanted = short > 0 || (long > 0 && (turn.isLong || this.#longRunning < scriptThreadsMax - 1))
      if (turn.isStopped || !isWanted) continue
      const leftMs = scriptSlicesMs[turn.level]! - turn.elapsedMs
      if (leftMs > 0) nextMs = Math.min(nextMs, leftMs)
      else {
        if (short > 0) short -= 1
        else long -= 1
        turn.stop(displaced)
      }
    }
    if (nextMs < Number.POSITIVE_INFINITY) this.#nextShare = machine.setTimeout(() => this.#share(), Math.ceil(nextMs))
  }

  get #longRunning(): number {
    let count = 0
    for (const turn of this.#running) if (turn.isLong) count += 1
    return count
  }

  #waiting(from: number, to: number): number {
    return this.#queues.slice(from, to).reduce((sum, queue) => sum + queue.length, 0)
  }

  /** The queue that gets the next idle thread. */
  #nextLevel(): number | undefined {
    if (this.#idle.length === 0) return undefined
    const [short, long] = [0, longLevel].map(from =>
      this.#queues.findIndex((queue, level) => level >= from && queue.length > 0),
    )
    const longRunning = this.#longRunning
    if (long !== -1 && longRunning === 0) return long
    if (short !== -1 && short! < longLevel) return short
    return long !== -1 && longRunning < scriptThreadsMax - 1 ? long : undefined
  }

  #start(level: number): void {
    machine.clearTimeout(this.#rest)
    // The most recently used thread has been started already.
    const link = this.#idle.pop()!
    const turn = new ScriptTurn(link, level, () => {
      this.#running.delete(turn)
      this.#idle.push(link)
      this.#share()
      if (this.#running.size === 0 && !this.#isClosed) this.#restLater()
    })
    this.#running.add(turn)
    this.#queues[level]!.take()!(turn)
  }

  #restLater(): void {
    machine.clearTimeout(this.#rest)
    this.#rest = machine.setTimeout(() => {
      for (const link of this.#links) void link.rest()
    }, scriptRestAfterMs)
    this.#rest.unref()
  }
}

function tooMany(): CapacityError {
  return new CapacityError('throttled', 'Too many scripts are waiting to be run.', 1000)
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The server is stopping.', 0)
}
