/**
 * The user-defined functions of one page of a query, in their thread. Each is compiled on first call, then
 * called per row.
 */

import { compileErrorText, compileScript, executionErrorText, guestFileName, readThrownError } from './compile.ts'
import type { FromFunctionThread, ToFunctionThread } from './function-messages.ts'
import { functionsText } from './guest/texts.ts'
import {
  type EngineContext,
  type GuestFunction,
  type ScriptEngine,
  stepsPerQuestion,
  UncaughtError,
} from './quickjs.ts'
import { compileErrorNumber } from './script-error.ts'

/**
 * Most loop iterations and function calls in one call of a user-defined function: about 10 milliseconds. A
 * time limit would stop harmless functions on a busy machine.
 */
const functionStepsMax = 1_000_000

export class FunctionContext {
  readonly #context: EngineContext
  readonly #define: GuestFunction
  readonly #call: GuestFunction
  #steps = 0
  #isLate = false

  constructor(engine: ScriptEngine, epochMs: number) {
    this.#context = engine.createContext(() => this.#checkLimits())
    const host = this.#context.createHost({ random: () => Math.random() })
    const maker = this.#context.evaluate(functionsText, guestFileName)
    const [define, call] = this.#context.create(maker, [host, String(epochMs)], ['define', 'call'])
    this.#define = define!
    this.#call = call!
  }

  /** Throws if the engine is broken. */
  call({ name, body, args }: ToFunctionThread & { readonly kind: 'call' }): FromFunctionThread {
    this.#isLate = false
    this.#steps = 0
    try {
      const failure = body === undefined ? undefined : this.#compile(name, body)
      if (failure !== undefined) return failure
      const text = this.#context.call(this.#call, name, args) ?? ''
      if (this.#isLate) return { kind: 'late' }
      return text.startsWith('[') ? { kind: 'value', text } : this.#thrown(text)
    } catch (error) {
      if (!(error instanceof UncaughtError)) throw error
      if (this.#isLate) return { kind: 'late' }
      const message = executionErrorText({ text: error.message, stack: error.guestStack })
      return { kind: 'failed', message, number: undefined }
    }
  }

  /** Throws if the engine is broken afterwards. */
  dispose(): void {
    this.#context.dispose()
  }

  #compile(name: string, body: string): FromFunctionThread | undefined {
    let make: GuestFunction
    try {
      make = compileScript(this.#context, body, `${name}.js`)
    } catch (error) {
      if (!(error instanceof UncaughtError) || this.#isLate) throw error
      return { kind: 'failed', message: compileErrorText(error, body), number: compileErrorNumber }
    }
    const failure = this.#context.call(this.#define, name, make)
    return failure === undefined ? undefined : this.#thrown(failure)
  }

  #thrown(text: string): FromFunctionThread {
    const error = readThrownError(text)
    return { kind: 'failed', message: executionErrorText(error), number: error.number }
  }

  /** Whether the guest must stop. */
  #checkLimits(): boolean {
    this.#steps += stepsPerQuestion
    this.#isLate ||= this.#steps > functionStepsMax
    return this.#isLate
  }
}
