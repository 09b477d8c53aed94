/**
 * One run of a stored procedure or trigger in its thread. It sends the script's calls, receives the answers,
 * and ends when every call is answered.
 */

import { randomUUID } from 'node:crypto'
import { machine } from '../base/clock.ts'
import { KiB, MiB } from '../base/limits.ts'
import { compileErrorText, compileScript, executionErrorText, guestFileName, readThrownError } from './compile.ts'
import { scriptText } from './guest/texts.ts'
import type { HostCall } from './host.ts'
import { toHostCall } from './host-call.ts'
import { type EngineContext, type GuestFunction, type ScriptEngine, UncaughtError } from './quickjs.ts'
import { compileErrorNumber } from './script-error.ts'
import type { RunEnd, RunMessage, ToThread } from './thread-messages.ts'

/** Share of the time in which a script's calls are accepted. The rest lets the script finish cleanly. */
const scriptAcceptShare = 0.8

/** Most characters of one call of a script: an item, or a query. */
const scriptCallCharsMax = 4 * MiB

/** Most unanswered calls of a script, and their characters. Further calls are not accepted. */
const scriptCallsWaitingMax = 10_000
const scriptCallsWaitingCharsMax = 16 * MiB

/** Most calls on their way to the server's thread, which receives all of them in one turn. */
export const scriptCallsSentMax = 100

/** The log is returned in a header, and clients refuse responses with more than 16 KB of headers. */
const scriptLogEncodedCharsMax = 8 * KiB

/** Most writes of one run. They are one commit, and 5,000 blocked the event loop for 55 to 103 ms. */
export const scriptWritesMax = 2000

/**
 * Promise jobs that run between two checks of the time. The engine itself checks only once in ten thousand
 * steps.
 */
const jobsPerCheck = 10

const readKinds: ReadonlySet<HostCall['kind']> = new Set(['read', 'readFeed', 'query'])

export class Execution {
  readonly #message: RunMessage
  readonly #startMs = machine.monotonicMs()
  readonly #context: EngineContext
  readonly #isStopped: () => boolean
  readonly #send: (call: HostCall) => void
  readonly #waitingChars: number[] = []
  /** Waiting calls that were not sent to the server yet. */
  readonly #unsent: HostCall[] = []
  #waitingCharsSum = 0
  #entryPoints: Readonly<Record<'start' | 'answer' | 'outcome', GuestFunction>> | undefined
  #log = ''
  #logChars = 0
  #isBudgetSpent = false
  #writes = 0
  #isAborted = false
  /** After an abort the guest is stopped, except while it is asked for the outcome. */
  #isAsking = false
  #isLate = false

  /** `isStopped` tells whether the server has ended the run. */
  constructor(engine: ScriptEngine, message: RunMessage, isStopped: () => boolean, send: (call: HostCall) => void) {
    this.#message = message
    this.#isStopped = isStopped
    this.#send = send
    this.#context = engine.createContext(() => this.#checkLimits())
  }

  /** Undefined while calls are unanswered. */
  start(): RunEnd | undefined {
    return this.#guarded(() => {
      const host = this.#createHost()
      const maker = this.#context.evaluate(scriptText, guestFileName)
      const names = ['start', 'answer', 'outcome'] as const
      const [start, answer, outcome] = this.#context.create(maker, [host, this.#message.settings], names)
      this.#entryPoints = { start: start!, answer: answer!, outcome: outcome! }
      const { body, fileName } = this.#message
      let make: GuestFunction
      try {
        make = compileScript(this.#context, body, fileName)
      } catch (error) {
        if (!(error instanceof UncaughtError) || this.#isLate) throw error
        return this.#failed(compileErrorText(error, body), compileErrorNumber)
      }
      return this.#enter(this.#entryPoints.start, make)
    })
  }

  answer({ body, options, error, isBudgetSpent }: ToThread & { readonly kind: 'answer' }): RunEnd | undefined {
    this.#waitingCharsSum -= this.#waitingChars.shift() ?? 0
    const next = this.#unsent.shift()
    if (next !== undefined) this.#send(next)
    this.#isBudgetSpent ||= isBudgetSpent
    return this.#guarded(() => this.#enter(this.#entryPoints!.answer, body, options, error))
  }

  /** Throws if the engine is broken afterwards. */
  dispose(): void {
    this.#context.dispose()
  }

  #enter(entryPoint: GuestFunction, ...args: (string | undefined | GuestFunction)[]): RunEnd | undefined {
    if (this.#checkLimits()) return { kind: 'late' }
    const failure = this.#context.call(entryPoint, ...args)
    while (failure === undefined && !this.#checkLimits() && this.#context.runJobs(jobsPerCheck));
    this.#checkLimits()
    if (this.#isLate) return { kind: 'late' }
    if (failure !== undefined) return this.#thrown(failure)
    return this.#waitingChars.length > 0 && !this.#isAborted ? undefined : this.#outcome()
  }

  /** Also called after an abort, to read the reason. */
  #outcome(): RunEnd {
    this.#isAsking = true
    const text = this.#context.call(this.#entryPoints!.outcome)
    if (this.#checkLimits()) return { kind: 'late' }
    let outcome: unknown
    try {
      outcome = JSON.parse(text ?? '')
    } catch {}
    // The guest reports a thrown error as {text, …}.
    if (typeof outcome !== 'object' || outcome === null || 'text' in outcome) return this.#thrown(text ?? '')
    const { request, response } = outcome as Record<string, unknown>
    const textOf = (body: unknown) => (typeof body === 'string' && isJson(body) ? body : undefined)
    return { kind: 'done', request: textOf(request), response: textOf(response), log: this.#log }
  }

  #thrown(text: string): RunEnd {
    const error = readThrownError(text)
    return this.#failed(executionErrorText(error), error.number)
  }

  #failed(message: string, number: number | undefined): RunEnd {
    return { kind: 'failed', message, number, log: this.#log }
  }

  #guarded(work: () => RunEnd | undefined): RunEnd | undefined {
    try {
      return work()
    } catch (error) {
      if (!(error instanceof UncaughtError)) throw error
      if (this.#isLate) return { kind: 'late' }
      if (this.#isAborted && !this.#isAsking) return this.#guarded(() => this.#outcome())
      return this.#failed(executionErrorText({ text: error.message, stack: error.guestStack }), undefined)
    }
  }

  /** Whether the guest must stop. */
  #checkLimits(): boolean {
    this.#isLate ||= machine.monotonicMs() - this.#startMs > this.#message.msMax || this.#isStopped()
    return this.#isLate || (this.#isAborted && !this.#isAsking)
  }

  #createHost(): GuestFunction {
    return this.#context.createHost({
      send: (kind = '', payload = '') => this.#accept(kind, payload),
      log: (text = '') => this.#append(text),
      abort: () => {
        this.#isAborted = true
        return undefined
      },
      newId: () => randomUUID(),
      random: () => Math.random(),
    })
  }

  #accept(kind: string, payload: string): boolean {
    const hasTime = machine.monotonicMs() - this.#startMs < this.#message.msMax * scriptAcceptShare
    const hasRoom =
      this.#waitingChars.length < scriptCallsWaitingMax &&
      this.#waitingCharsSum + payload.length <= scriptCallsWaitingCharsMax
    if (!hasTime || !hasRoom || this.#isBudgetSpent || this.#isAborted) return false
    if (payload.length > scriptCallCharsMax) throw new RangeError('The request is too large.')
    const call = toHostCall(kind, payload)
    if (call === undefined) throw new TypeError('The call is malformed.')
    if (!readKinds.has(call.kind) && ++this.#writes > scriptWritesMax) return false
    this.#waitingChars.push(payload.length)
    this.#waitingCharsSum += payload.length
    if (this.#waitingChars.length <= scriptCallsSentMax) this.#send(call)
    else this.#unsent.push(call)
    return true
  }

  /** Text that does not fit is dropped: a long log should not make the script fail. */
  #append(json: string): undefined {
    if (!isJson(json)) return
    const text = String(JSON.parse(json)).toWellFormed()
    this.#logChars += encodeURIComponent(text).length
    if (this.#logChars <= scriptLogEncodedCharsMax) this.#log += text
  }
}

function isJson(text: string): boolean {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
