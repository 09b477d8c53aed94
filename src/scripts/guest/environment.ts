/**
 * The language as scripts of the service find it: `new Error(number, text)`, the database's clock, numbers
 * that are random.
 *
 * This function is sent to the sandbox as text. It may refer to nothing but its parameters and what the
 * language has.
 */

/**
 * What the thread offers to the code in the sandbox. Scripts can get at these functions too: none of them
 * trusts its arguments.
 */
export interface GuestHost {
  /** False when the call is not accepted. */
  send(kind: string, payload: string): boolean
  /** The text as JSON. */
  log(text: string): void
  abort(): void
  newId(): string
  random(): number
}

export function defineEnvironment(host: Pick<GuestHost, 'random'>, epochMs: number): void {
  type Constructor = (...parts: unknown[]) => unknown

  /**
   * The new one creates what the old one creates, and is taken for it by `instanceof`, `extends` and the
   * statics.
   */
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

  // Items live by the database's clock, which may be turned by hand. It goes on at the machine's rate during
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

  // The engine takes its seed from the millisecond, so that two runs in one would make the same "unique" ids.
  Math.random = () => host.random()
}
