/**
 * QuickJS, kept within bounds: a JavaScript engine compiled to WebAssembly, with a memory that cannot grow
 * further.
 *
 * Nothing of Node is in reach of the code inside: what it sees of the outside are the functions it is given,
 * which take and give strings. All strings that cross are JSON or source texts, because a NUL would end any
 * other.
 *
 * Two bounds hold by themselves: the WebAssembly memory has a maximum, and recursion ends at the stack limit,
 * given a thread with a large stack of its own (on Node's default stack the engine dies of plain recursion).
 * Time does not: the engine asks `isOver` once in ten thousand steps, and a step can be a search through
 * megabytes. Measured: 92 seconds from one question to the next. Whoever runs unknown code must be able to
 * end the thread.
 */

import release from '@jitl/quickjs-wasmfile-release-sync'
import {
  newQuickJSWASMModuleFromVariant,
  newVariant,
  type QuickJSContext,
  type QuickJSHandle,
  type QuickJSSyncVariant,
  type QuickJSWASMModule,
} from 'quickjs-emscripten-core'
import { KiB, MiB } from '../base/limits.ts'

/**
 * The memory of a thread that runs scripts, all in all. QuickJS counts 8 bytes per allocation when it runs as
 * WebAssembly and lets a script pass 600 MB under a limit of 64, so that the bound is the size of the
 * WebAssembly memory itself.
 */
const scriptMemoryBytesMax = 64 * MiB

/**
 * Recursion in a script ends here. The thread's own stack must be far larger, or the engine dies of what it
 * should refuse.
 */
const scriptStackBytesMax = 256 * KiB

declare const WebAssembly: { Memory: new (size: { initial: number; maximum: number }) => never }

/** The package describes its CommonJS form; as a module its default export is the variant itself. */
const variant = release as unknown as QuickJSSyncVariant

const pageBytes = 65_536

/**
 * How many turns of loops and calls of functions lie between two questions whether it is over; built into the
 * engine.
 */
export const stepsPerQuestion = 10_000

/** What the module is built to start with. */
const initialBytes = 16 * 1024 * 1024

export async function loadEngine(): Promise<ScriptEngine> {
  const wasmMemory = new WebAssembly.Memory({
    initial: initialBytes / pageBytes,
    maximum: scriptMemoryBytesMax / pageBytes,
  })
  // The engine's last words are for the one who ends the thread, not for the terminal.
  const emscriptenModule: object = { print: () => {}, printErr: () => {} }
  return new ScriptEngine(await newQuickJSWASMModuleFromVariant(newVariant(variant, { wasmMemory, emscriptenModule })))
}

export class ScriptEngine {
  readonly #module: QuickJSWASMModule

  constructor(module: QuickJSWASMModule) {
    this.#module = module
  }

  /** A world of its own: nothing that one context does is seen in another. */
  createContext(isOver: () => boolean): EngineContext {
    const runtime = this.#module.newRuntime()
    runtime.setMaxStackSize(scriptStackBytesMax)
    runtime.setInterruptHandler(isOver)
    return new EngineContext(runtime.newContext())
  }
}

/** A function in the sandbox. It lives until its context ends. */
export type GuestFunction = QuickJSHandle

export type GuestArgument = string | undefined | GuestFunction

export type HostFunction = (...values: string[]) => string | boolean | number | undefined

/**
 * Something was thrown that no code in the sandbox caught: an error of the syntax, or the end of time or
 * memory.
 */
export class UncaughtError extends Error {
  readonly guestStack: string

  constructor(text: string, guestStack: string) {
    super(text)
    this.guestStack = guestStack
  }
}

export class EngineContext {
  readonly #context: QuickJSContext
  readonly #owned: QuickJSHandle[] = []

  constructor(context: QuickJSContext) {
    this.#context = context
  }

  /** The value of a text: a function, or an object of functions. */
  evaluate(text: string, fileName: string): GuestFunction {
    const result = this.#context.evalCode(text, fileName)
    return this.#own(result.error === undefined ? result.value : this.#fail(result.error))
  }

  /** An object with the given functions, to be handed to a function in the sandbox. */
  createHost(functions: Readonly<Record<string, HostFunction>>): GuestFunction {
    const context = this.#context
    const host = this.#own(context.newObject())
    for (const [name, work] of Object.entries(functions)) {
      const handle = context.newFunction(name, (...values) =>
        this.#toHandle(work(...values.map(value => context.getString(value)))),
      )
      context.setProp(host, name, handle)
      handle.dispose()
    }
    return host
  }

  /** Calls a function that answers with an object, and takes functions out of it. */
  create(maker: GuestFunction, args: readonly GuestArgument[], names: readonly string[]): GuestFunction[] {
    using made = this.#call(maker, args)
    return names.map(name => this.#own(this.#context.getProp(made, name)))
  }

  call(work: GuestFunction, ...args: GuestArgument[]): string | undefined {
    using result = this.#call(work, args)
    return this.#context.typeof(result) === 'string' ? this.#context.getString(result) : undefined
  }

  /** Runs what promises left to do. Errors in there are the promises' own business. */
  runJobs(): void {
    const result = this.#context.runtime.executePendingJobs()
    result.dispose()
  }

  /**
   * Throws when the code has left the engine in a state from which nothing can be cleaned up. The engine is
   * then lost.
   */
  dispose(): void {
    const { runtime } = this.#context
    for (const handle of this.#owned) handle.dispose()
    this.#context.dispose()
    runtime.dispose()
  }

  #call(work: GuestFunction, args: readonly GuestArgument[]): QuickJSHandle {
    const handles = args.map(arg => (typeof arg === 'object' ? arg : this.#toHandle(arg)))
    const result = this.#context.callFunction(work, this.#context.undefined, ...handles)
    for (const [index, handle] of handles.entries()) if (typeof args[index] === 'string') handle.dispose()
    return result.error === undefined ? result.value : this.#fail(result.error)
  }

  #toHandle(value: string | boolean | number | undefined): QuickJSHandle {
    const context = this.#context
    if (typeof value === 'string') return context.newString(value)
    if (typeof value === 'number') return context.newNumber(value)
    if (typeof value === 'boolean') return value ? context.true : context.false
    return context.undefined
  }

  #own(handle: QuickJSHandle): QuickJSHandle {
    this.#owned.push(handle)
    return handle
  }

  #fail(error: QuickJSHandle): never {
    const context = this.#context
    const read = (name: string): string => {
      using value = context.getProp(error, name)
      return context.typeof(value) === 'string' ? context.getString(value) : ''
    }
    const name = read('name')
    const text = read('message')
    const stack = read('stack')
    error.dispose()
    throw new UncaughtError(name === '' ? 'InternalError: out of memory' : `${name}: ${text}`, stack)
  }
}
