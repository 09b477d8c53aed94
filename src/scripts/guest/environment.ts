/**
 * Adapts the language to what the service offers: `new Error(number, text)`, the database's clock, and good
 * random numbers.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
 */

/** Functions that the thread offers to the sandbox. Scripts reach them too, so none trusts its arguments. */
export interface GuestHost {
  /** Returns false if the call is not accepted. */
  send(kind: string, payload: string): boolean
  /** The text is JSON. */
  log(text: string): void
  abort(): void
  newId(): string
  random(): number
}

export function defineEnvironment(host: Pick<GuestHost, 'random'>, epochMs: number): void {
  type Constructor = (...parts: unknown[]) => unknown

  /** Replaces a built-in constructor. `instanceof`, `extends` and static members keep working. */
  const replace = (name: 'Error' | 'Date', replacement: Constructor): void => {
    const real = globalThis[name]
    Object.setPrototypeOf(replacement, real)
    Object.defineProperty(replacement, 'name', { value: name, configurable: true })
    Object.defineProperty(replacement, 'prototype', { value: real.prototype, writable: false })
    Object.defineProperty(real.prototype, 'constructor', { value: replacement, configurable: true, writable: true })
    Object.defineProperty(globalThis, name, { value: replacement, configurable: true, writable: true })
  }

  const RealError = Error
  const errors = [EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError, AggregateError]
  function ScriptError(...parts: unknown[]): unknown {
    const [number, text] = parts
    const isNumbered = typeof number === 'number' && parts.length > 1 && typeof text !== 'object'
    const error = Reflect.construct(RealError, isNumbered ? [text] : parts, new.target ?? ScriptError)
    if (isNumbered) error.number = number
    return error
  }
  replace('Error', ScriptError)
  for (const each of errors) Object.setPrototypeOf(each, ScriptError)

  // Items expire by the database's clock, which may be a manual one. It advances at the machine's rate during
  // the run.
  const RealDate = Date
  const offsetMs = epochMs - RealDate.now()
  const nowMs = (): number => RealDate.now() + offsetMs
  function ScriptDate(...parts: unknown[]): unknown {
    if (new.target === undefined) return new RealDate(nowMs()).toString()
    return Reflect.construct(RealDate, parts.length === 0 ? [nowMs()] : parts, new.target)
  }
  replace('Date', ScriptDate)
  Object.defineProperty(ScriptDate, 'now', { value: nowMs, configurable: true, writable: true })

  // The engine seeds from the current millisecond, so two runs in the same one would make the same "unique"
  // ids.
  Math.random = () => host.random()
}
