/**
 * User-defined functions in queries: `udf.name(…)`, called synchronously in the middle of a row.
 *
 * They run in their own thread all the same, because in the query's thread nothing could stop them: the
 * engine checks its limits only every ten thousand steps, and a function whose steps searched megabytes held
 * a thread for 92 seconds under a limit of 100 milliseconds. So the query sleeps while the function works,
 * about 20 microseconds for a small one, and terminates the thread if it does not end.
 */

import { machine } from '../base/clock.ts'
import { CapacityError, RequestError } from '../base/error.ts'
import { itemBytesMax, KiB, nestingDepthMax } from '../base/limits.ts'
import { FunctionThreadLink } from './function-thread-link.ts'
import { ScriptError, timeOver } from './script-error.ts'

/**
 * A query waits this long. If the function is at work then, it waits longer before it ends the thread: see
 * `function-thread-link.ts`.
 */
const functionKillMsMax = 25

/**
 * The wait grows with the arguments: the engine reads and writes 15 KB of JSON per millisecond. Half of that,
 * to be safe.
 */
const functionCharsPerMs = 8 * KiB

/** Time limit for all user-defined functions in one page of a query: the service's five seconds. */
const functionPageMsMax = 5000

/** Most pages with user-defined functions at a time. Each has a context of 300 KB in the one thread. */
export const functionSessionsMax = 64

/** A value of the query language: JSON, or undefined. */
export type FunctionValue =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly FunctionValue[]
  | { readonly [name: string]: FunctionValue }

export interface FunctionDefinitions {
  /** Source texts by name. */
  readonly bodies: ReadonlyMap<string, string>
  /** The functions' clock. */
  readonly epochMs: number
}

export class UserDefinedFunctions {
  readonly #patienceMs: number
  #link: Promise<FunctionThreadLink> | undefined
  #sessions = 0
  #lastSession = 0

  /** `patienceMs`: how long a caller waits for one call of a function before it ends the thread. */
  constructor({ patienceMs = functionKillMsMax }: { readonly patienceMs?: number } = {}) {
    this.#patienceMs = patienceMs
  }

  /** Opens a session for one page of a query. Functions are compiled in its own context on first call. */
  async open(definitions: FunctionDefinitions): Promise<FunctionSession> {
    if (this.#sessions >= functionSessionsMax) {
      throw new CapacityError('throttled', 'Too many queries use user-defined functions at the same time.', 100)
    }
    this.#sessions += 1
    try {
      const link = await this.#usableLink()
      this.#lastSession += 1
      return new FunctionSession(link, this.#lastSession, { ...definitions, patienceMs: this.#patienceMs }, () => {
        this.#sessions -= 1
      })
    } catch (error) {
      this.#sessions -= 1
      throw error
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const link = await this.#link?.catch(() => undefined)
    this.#link = undefined
    await link?.end()
  }

  async #usableLink(): Promise<FunctionThreadLink> {
    this.#link ??= FunctionThreadLink.start()
    const started = this.#link
    const link = await started.catch(() => undefined)
    if (link !== undefined && !link.isLost) return link
    if (this.#link === started) this.#link = undefined
    if (link === undefined) return started
    return this.#usableLink()
  }
}

export class FunctionSession {
  readonly #link: FunctionThreadLink
  readonly #number: number
  readonly #definitions: FunctionDefinitions & { readonly patienceMs: number }
  readonly #known = new Set<string>()
  readonly #onEnd: () => void
  #spentMs = 0
  #isEnded = false

  constructor(
    link: FunctionThreadLink,
    number: number,
    definitions: FunctionDefinitions & { readonly patienceMs: number },
    onEnd: () => void,
  ) {
    this.#link = link
    this.#number = number
    this.#definitions = definitions
    this.#onEnd = onEnd
    link.post({ kind: 'open', session: number, epochMs: definitions.epochMs })
  }

  /** Throws a ScriptError if the function throws, a CapacityError if it takes too long. */
  call(name: string, values: readonly FunctionValue[]): FunctionValue {
    const body = this.#definitions.bodies.get(name)
    if (body === undefined) {
      throw new RequestError('malformed', `'${name}' is not a recognized user-defined function name.`)
    }
    if (this.#link.isLost) throw threadLost()
    if (this.#spentMs > functionPageMsMax) throw timeOver()
    // Each value is in an array of its own. An empty one is undefined, which JSON lacks.
    const args = `[${values.map(value => (value === undefined ? '[]' : `[${JSON.stringify(value)}]`))}]`
    const startMs = machine.monotonicMs()
    const isKnown = this.#known.has(name)
    const answer = this.#link.ask(
      { kind: 'call', session: this.#number, name, body: isKnown ? undefined : body, args },
      this.#definitions.patienceMs + args.length / functionCharsPerMs,
    )
    this.#spentMs += machine.monotonicMs() - startMs
    if (answer === undefined || answer.kind === 'late') throw timeOver()
    if (answer.kind === 'lost') throw threadLost()
    if (answer.kind === 'failed') throw new ScriptError(answer.message, answer.number)
    this.#known.add(name)
    return readValue(answer.text)
  }

  [Symbol.dispose](): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#onEnd()
    if (!this.#link.isLost) this.#link.post({ kind: 'end', session: this.#number })
  }
}

/**
 * A function has crashed the thread, or had to be stopped with it. It may be a function of another query.
 */
function threadLost(): CapacityError {
  return new CapacityError('unavailable', 'The thread of user-defined functions was lost. Try again.', 0)
}

function readValue(text: string): FunctionValue {
  if (text.length > itemBytesMax) throw new ScriptError('A user-defined function gave back more than 2 MB.')
  if (isDeep(text)) {
    throw new ScriptError(`A user-defined function gave back a value nested deeper than ${nestingDepthMax} levels.`)
  }
  return JSON.parse(text)[0]
}

/** The query language walks values recursively. The array around the value does not count. */
function isDeep(text: string): boolean {
  if (text.length <= nestingDepthMax) return false
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length; at += 1) {
    const sign = text[at]
    if (isInString) {
      if (sign === '\\') at += 1
      else if (sign === '"') isInString = false
    } else if (sign === '"') isInString = true
    else if (sign === '[' || sign === '{') {
      depth += 1
      if (depth > nestingDepthMax + 1) return true
    } else if (sign === ']' || sign === '}') depth -= 1
  }
  return false
}
