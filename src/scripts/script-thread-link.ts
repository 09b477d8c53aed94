/**
 * The server's link to one thread that runs scripts: passes their calls to the host, and terminates the
 * thread if nothing else helps.
 *
 * A thread is started on first use and then reused. It is replaced if it had to be terminated, or was ended
 * because no script needed it.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import type { Worker } from 'node:worker_threads'
import { machine } from '../base/clock.ts'
import { InvariantError } from '../base/error.ts'
import { nextSlice } from '../base/slices.ts'
import type { HostCall, ScriptHost } from './host.ts'
import { ScriptError, timeOver } from './script-error.ts'
import { startThread } from './start-thread.ts'
import type { FromThread, RunEnd, RunMessage, ToThread } from './thread-messages.ts'

/**
 * Grace period for a script to stop by itself. After it the thread is terminated: one built-in call can take
 * seconds.
 */
const scriptKillMsMax = 250

/** Longest time that the calls of a script may hold the event loop: thousands of them can wait. */
export const scriptSliceMsMax = 2

export type RunDone = RunEnd & { readonly kind: 'done' }

export class ScriptThreadLink {
  #thread: Promise<Worker> | undefined
  /** The number of a run that must stop. The thread looks at it while a script is busy. */
  #stopped = new Int32Array(new SharedArrayBuffer(4))
  #lastRun = 0

  /** Starts the thread if there is none. */
  async ready(): Promise<void> {
    this.#thread ??= this.#start()
    await this.#thread
  }

  /**
   * Rejects with the signal's reason if the signal ends the run. When the promise settles, the thread is
   * free.
   */
  async run(message: Omit<RunMessage, 'kind' | 'run'>, host: ScriptHost, signal: AbortSignal): Promise<RunDone> {
    this.#thread ??= this.#start()
    const thread = await this.#thread
    signal.throwIfAborted()
    this.#lastRun += 1
    const run = new Run(thread, this.#lastRun, host, this.#stopped)
    try {
      return await run.result({ ...message, kind: 'run', run: this.#lastRun }, signal)
    } finally {
      if (run.isThreadLost) await thread.terminate()
    }
  }

  /** Ends the thread, which must be idle. This frees the memory of its engine, which never shrinks. */
  async rest(): Promise<void> {
    const thread = this.#thread
    this.#thread = undefined
    await (await thread?.catch(() => undefined))?.terminate()
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.rest()
  }

  #start(): Promise<Worker> {
    const started = new Promise<Worker>((resolve, reject) => {
      const thread = startThread('script-thread', { workerData: this.#stopped })
      const fail = (cause: unknown) => reject(new InvariantError('A thread for scripts does not start.', { cause }))
      thread.once('error', fail)
      thread.once('exit', code => {
        // Another one may have been started already.
        if (this.#thread === started) this.#thread = undefined
        fail(code)
      })
      thread.once('message', () => {
        // An idle thread must not keep the process alive.
        thread.unref()
        resolve(thread)
      })
    })
    return started
  }
}

class Run {
  readonly #thread: Worker
  readonly #number: number
  readonly #host: ScriptHost
  readonly #stopped: Int32Array
  readonly #end = Promise.withResolvers<RunDone>()
  #isThreadLost = false
  #isOver = false
  /** Why the run was stopped. */
  #stopReason: Error | undefined
  #killTimer: NodeJS.Timeout | undefined
  readonly #waiting: HostCall[] = []
  /** Calls are answered in the asynchronous context of the script's caller, which counts their memory. */
  readonly #inContext = AsyncLocalStorage.snapshot()
  /** The loop that answers calls, while there are any. */
  #answering: Promise<void> | undefined
  /** When the event loop last had a turn. */
  #sliceStartMs = machine.monotonicMs()

  constructor(thread: Worker, number: number, host: ScriptHost, stopped: Int32Array) {
    this.#thread = thread
    this.#number = number
    this.#host = host
    this.#stopped = stopped
  }

  get isThreadLost(): boolean {
    return this.#isThreadLost
  }

  async result(message: RunMessage, signal: AbortSignal): Promise<RunDone> {
    const thread = this.#thread
    const onAbort = () => this.#stop(signal.reason)
    thread.ref()
    signal.addEventListener('abort', onAbort)
    try {
      return await this.#listen(message)
    } finally {
      signal.removeEventListener('abort', onAbort)
      this.#isOver = true
      thread.unref()
      await this.#answering
    }
  }

  #listen(message: RunMessage): Promise<RunDone> {
    const { promise, resolve, reject } = this.#end
    const thread = this.#thread
    const onMessage = (received: FromThread): void => {
      if (received.kind === 'ready' || received.run !== this.#number) return
      if (received.kind === 'call') {
        this.#waiting.push(received.call)
        this.#answering ??= this.#answer()
      } else {
        this.#isThreadLost ||= received.isEngineLost
        if (this.#stopReason !== undefined) reject(this.#stopReason)
        else if (received.end?.kind === 'done') resolve(received.end)
        else reject(toError(received.end))
      }
    }
    const onEnd = (): void => this.#loseThread(toError(undefined))
    thread.on('message', onMessage).on('error', onEnd).on('exit', onEnd)
    this.#post(message)
    return promise.finally(() => {
      machine.clearTimeout(this.#killTimer)
      thread.off('message', onMessage).off('error', onEnd).off('exit', onEnd)
    })
  }

  /** Stops the run, whatever the script is doing. Nothing that it did counts. */
  #stop(reason: Error): void {
    if (this.#isOver) return
    this.#isOver = true
    this.#stopReason = reason
    Atomics.store(this.#stopped, 0, this.#number)
    this.#post({ kind: 'drop', run: this.#number })
    this.#killTimer = machine.setTimeout(() => this.#loseThread(reason), scriptKillMsMax)
  }

  #loseThread(error: Error): void {
    this.#isThreadLost = true
    this.#end.reject(this.#stopReason ?? error)
  }

  /**
   * Answers waiting calls, and yields after each time slice: a thousand messages may arrive in one turn. The
   * start of the slice is kept from one run of this loop to the next: if the thread sends as fast as it is
   * answered, no call waits after each answer, and the loop ends every time.
   */
  async #answer(): Promise<void> {
    for (;;) {
      if (machine.monotonicMs() - this.#sliceStartMs >= scriptSliceMsMax) {
        await nextSlice()
        this.#sliceStartMs = machine.monotonicMs()
      }
      const call = this.#waiting.shift()
      if (call === undefined || this.#isOver) break
      try {
        await this.#call(call)
      } catch (error) {
        // The host itself failed; the script is not told.
        this.#stop(error as Error)
      }
    }
    this.#answering = undefined
  }

  async #call(call: HostCall): Promise<void> {
    const answer = await this.#inContext(() => this.#host.call(call))
    if (this.#isOver) return
    const run = this.#number
    const isBudgetSpent = answer.isBudgetSpent === true
    if ('error' in answer) {
      const error = JSON.stringify(answer.error)
      this.#post({ kind: 'answer', run, body: undefined, options: '{}', error, isBudgetSpent })
    } else {
      const { body, options } = answer.ok
      this.#post({ kind: 'answer', run, body, options: JSON.stringify(options), error: undefined, isBudgetSpent })
    }
  }

  #post(message: ToThread): void {
    this.#thread.postMessage(message)
  }
}

function toError(end: Exclude<RunEnd, RunDone> | undefined): Error {
  if (end?.kind === 'late') return timeOver()
  if (end?.kind === 'failed') return new ScriptError(end.message, end.number, end.log)
  return new ScriptError('Encountered exception while executing function. Exception = InternalError: out of memory')
}
