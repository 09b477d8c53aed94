/**
 * User-defined functions in queries: `udf.name(…)`, called in the middle of a row and answered at once.
 *
 * They run in a thread of their own all the same. In the thread of the query nothing could stop them: the
 * engine asks whether it should once in ten thousand steps, and a function whose steps were searches through
 * megabytes held a thread for 92 seconds under a limit of 100 milliseconds. So the query sleeps while the
 * function works, some 20 microseconds for one that does little, and ends the thread when it works on and on.
 */

import { machine } from '../base/clock.ts'
import { CapacityError, RequestError } from '../base/error.ts'
import { itemBytesMax, KiB, nestingDepthMax } from '../base/limits.ts'
import { FunctionThreadLink } from './function-thread-link.ts'
import { ScriptError, timeOver } from './script-error.ts'

/**
 * Whoever evaluates a query waits so long for a function, and as long again if it is at work; then its thread
 * is ended.
 */
const functionKillMsMax = 25

/**
 * Longer by what the engine needs to read the arguments: it reads and writes 15 KB of JSON per millisecond.
 */
const functionCharsPerMs = 8 * KiB

/** User-defined functions in one page of a query, all calls together: the service's five seconds. */
const functionPageMsMax = 5000

/** Pages with user-defined functions at the same time. Each has a context of 300 KB in the one thread. */
export const functionSessionsMax = 64

/** As in the query language: JSON, and undefined. */
export type FunctionValue =
  | undefined
  | null
  | boolean
  | number
  | string
  | readonly FunctionValue[]
  | { readonly [name: string]: FunctionValue }

export interface FunctionDefinitions {
  /** Texts by name. */
  readonly bodies: ReadonlyMap<string, string>
  /** What the functions' clock says. */
  readonly epochMs: number
}

export class UserDefinedFunctions {
  #link: Promise<FunctionThreadLink> | undefined
  #sessions = 0
  #lastSession = 0

  /**
   * For one page of a query. The functions are compiled when they are called, in a context of the session's
   * own.
   */
  async open(definitions: FunctionDefinitions): Promise<FunctionSession> {
    if (this.#sessions >= functionSessionsMax) {
      throw new CapacityError('throttled', 'Too many queries use user-defined functions at the same time.', 100)
    }
    this.#sessions += 1
    try {
      const link = await this.#living()
      this.#lastSession += 1
      return new FunctionSession(link, this.#lastSession, definitions, () => {
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

  async #living(): Promise<FunctionThreadLink> {
    this.#link ??= FunctionThreadLink.start()
    const started = this.#link
    const link = await started.catch(() => undefined)
    if (link !== undefined && !link.isLost) return link
    if (this.#link === started) this.#link = undefined
    if (link === undefined) return started
    return this.#living()
  }
}

export class FunctionSession {
  readonly #link: FunctionThreadLink
  readonly #number: number
  readonly #definitions: FunctionDefinitions
  readonly #known = new Set<string>()
  readonly #onEnd: () => void
  #spentMs = 0
  #isEnded = false

  constructor(link: FunctionThreadLink, number: number, definitions: FunctionDefinitions, onEnd: () => void) {
    this.#link = link
    this.#number = number
    this.#definitions = definitions
    this.#onEnd = onEnd
    link.tell({ kind: 'open', session: number, epochMs: definitions.epochMs })
  }

  /** Throws a ScriptError when the function throws, a CapacityError when it takes too long. */
  call(name: string, values: readonly FunctionValue[]): FunctionValue {
    const body = this.#definitions.bodies.get(name)
    if (body === undefined) {
      throw new RequestError('malformed', `'${name}' is not a recognized user-defined function name.`)
    }
    if (this.#link.isLost) throw lost()
    if (this.#spentMs > functionPageMsMax) throw timeOver()
    const args = `[${values.map(value => (value === undefined ? '[]' : `[${JSON.stringify(value)}]`))}]`
    const startMs = machine.monotonicMs()
    const isKnown = this.#known.has(name)
    const said = this.#link.ask(
      { kind: 'call', session: this.#number, name, body: isKnown ? undefined : body, args },
      functionKillMsMax + args.length / functionCharsPerMs,
    )
    this.#spentMs += machine.monotonicMs() - startMs
    if (said === undefined || said.kind === 'late') throw timeOver()
    if (said.kind === 'lost') throw lost()
    if (said.kind === 'failed') throw new ScriptError(said.message, said.number)
    this.#known.add(name)
    return readValue(said.text)
  }

  [Symbol.dispose](): void {
    if (this.#isEnded) return
    this.#isEnded = true
    this.#onEnd()
    if (!this.#link.isLost) this.#link.tell({ kind: 'end', session: this.#number })
  }
}

/** Another query's function took the thread with it. */
function lost(): CapacityError {
  return new CapacityError('unavailable', 'The thread of user-defined functions was lost. Try again.', 0)
}

function readValue(text: string): FunctionValue {
  if (text.length > itemBytesMax) throw new ScriptError('A user-defined function gave back more than 2 MB.')
  if (isDeep(text)) {
    throw new ScriptError(`A user-defined function gave back a value nested deeper than ${nestingDepthMax} levels.`)
  }
  return JSON.parse(text)[0]
}

/** The query language walks values by recursion. The list around the value does not count. */
function isDeep(text: string): boolean {
  let depth = 0
  let isInString = false
  for (let at = 0; at < text.length && text.length > nestingDepthMax; at += 1) {
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
