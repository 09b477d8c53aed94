/**
 * QuickJS within limits: a JavaScript engine compiled to WebAssembly, whose memory cannot grow further.
 *
 * Code inside cannot reach Node. It sees only the functions it is given, which take and return strings. All
 * strings that cross are JSON or source text, because a NUL would end any other.
 *
 * Two limits enforce themselves: the WebAssembly memory has a maximum, and recursion ends at the stack limit,
 * provided that the thread has a large stack (on Node's default stack plain recursion crashes the engine).
 * Time is different: the engine calls `isOver` once in ten thousand steps, and one step can be a search
 * through megabytes. Measured: 92 seconds between two calls. So the caller must be able to terminate the
 * thread.
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
import { embeddedBytes } from '../base/embedded.ts'
import { KiB, MiB } from '../base/limits.ts'

/**
 * Total memory of a thread that runs scripts. As WebAssembly, QuickJS counts 8 bytes per allocation and lets
 * a script pass 600 MB under a limit of 64. So the limit is the size of the WebAssembly memory itself.
 */
const scriptMemoryBytesMax = 64 * MiB

/** Stack limit of a script. The thread's own stack must be far larger, or recursion crashes the engine. */
const scriptStackBytesMax = 256 * KiB

interface WasmMemory {
  grow(pages: number): number
}

declare const WebAssembly: { Memory: new (size: { initial: number; maximum: number }) => WasmMemory }

/** The types describe the CommonJS form; imported as a module, the default export is the variant itself. */
const variant = release as unknown as QuickJSSyncVariant

const pageBytes = 65_536

/** Loop iterations and function calls between two calls of `isOver`; built into the engine. */
export const stepsPerQuestion = 10_000

/** The memory size that the module is built to start with. */
const initialBytes = 16 * 1024 * 1024

export async function loadEngine(): Promise<ScriptEngine> {
  const wasmMemory = new WebAssembly.Memory({
    initial: initialBytes / pageBytes,
    maximum: scriptMemoryBytesMax / pageBytes,
  })
  const room: Room = { isUsedUp: false }
  const grow = wasmMemory.grow.bind(wasmMemory)
  wasmMemory.grow = pages => {
    room.isUsedUp = true
    const before = grow(pages)
    room.isUsedUp = false
    return before
  }
  // The engine's last output must not reach the terminal.
  const emscriptenModule: object = { print: () => {}, printErr: () => {} }
  // Without embedded bytes, the engine reads its file beside its own module.
  const wasmBinary = embeddedBytes('quickjs.wasm')
  const options = { wasmMemory: wasmMemory as never, emscriptenModule, ...(wasmBinary && { wasmBinary }) }
  return new ScriptEngine(await newQuickJSWASMModuleFromVariant(newVariant(variant, options)), room)
}

/** Whether there was no memory when the engine last asked for more. */
interface Room {
  isUsedUp: boolean
}

export class ScriptEngine {
  readonly #module: QuickJSWASMModule
  readonly #room: Room

  constructor(module: QuickJSWASMModule, room: Room) {
    this.#module = module
    this.#room = room
  }

  /** An isolated context: other contexts see nothing of it. */
  createContext(isOver: () => boolean): EngineContext {
    const runtime = this.#module.newRuntime()
    runtime.setMaxStackSize(scriptStackBytesMax)
    runtime.setInterruptHandler(isOver)
    this.#room.isUsedUp = false
    return new EngineContext(runtime.newContext(), this.#room)
  }
}

/** A function in the sandbox. It lives until its context is disposed. */
export type GuestFunction = QuickJSHandle

export type GuestArgument = string | undefined | GuestFunction

export type HostFunction = (...values: string[]) => string | boolean | number | undefined

/** An error that no code in the sandbox caught: a syntax error, or the end of time or memory. */
export class UncaughtError extends Error {
  readonly guestStack: string

  constructor(text: string, guestStack: string) {
    super(text)
    this.guestStack = guestStack
  }
}

const outOfMemory = 'InternalError: out of memory'

export class EngineContext {
  readonly #context: QuickJSContext
  readonly #room: Readonly<Room>
  readonly #owned: QuickJSHandle[] = []

  constructor(context: QuickJSContext, room: Readonly<Room>) {
    this.#context = context
    this.#room = room
  }

  /** Evaluates a text to a function, or to an object of functions. */
  evaluate(text: string, fileName: string): GuestFunction {
    const result = this.#context.evalCode(text, fileName)
    return this.#own(result.error === undefined ? result.value : this.#fail(result.error))
  }

  /** Makes an object with the given functions, to pass to a function in the sandbox. */
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

  /** Calls a function that returns an object, and takes the named functions out of it. */
  create(maker: GuestFunction, args: readonly GuestArgument[], names: readonly string[]): GuestFunction[] {
    using made = this.#call(maker, args)
    return names.map(name => this.#own(this.#context.getProp(made, name)))
  }

  call(work: GuestFunction, ...args: GuestArgument[]): string | undefined {
    using result = this.#call(work, args)
    return this.#context.typeof(result) === 'string' ? this.#context.getString(result) : undefined
  }

  /**
   * Runs pending promise jobs, and returns whether there are more. Errors in them belong to the promises.
   * But when memory is used up, the engine drops jobs without an error. Then this throws one.
   */
  runJobs(jobsMax: number): boolean {
    const { runtime } = this.#context
    const result = runtime.executePendingJobs(jobsMax)
    result.dispose()
    if (this.#room.isUsedUp) throw new UncaughtError(outOfMemory, '')
    return runtime.hasPendingJob()
  }

  /** Throws if the code has left the engine in a state that cannot be cleaned up. The engine is then lost. */
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
    throw new UncaughtError(name === '' ? outOfMemory : `${name}: ${text}`, stack)
  }
}
