/**
 * User-defined functions inside the sandbox: made once, called once per row.
 *
 * Undefined has no place in JSON, so that every value travels in a list: `[]` is undefined, `[x]` is x. An
 * error is an object.
 *
 * This function is sent to the sandbox as text. It may refer to nothing but its parameters and what the
 * language has.
 */

import type { defineEnvironment, GuestHost } from './environment.ts'
import type { describeError } from './thrown-error.ts'

export interface GuestFunctions {
  define(name: string, make: () => unknown): string | undefined
  call(name: string, args: string): string
}

export function createFunctions(
  host: Pick<GuestHost, 'random'>,
  epochMs: string,
  parts: { readonly defineEnvironment: typeof defineEnvironment; readonly describeError: typeof describeError },
): GuestFunctions {
  parts.defineEnvironment(host, Number(epochMs))
  const functions = new Map<string, (...values: unknown[]) => unknown>()
  const { parse, stringify } = JSON
  return {
    define: (name, make) => {
      try {
        const made = make()
        if (typeof made !== 'function') throw new TypeError('The body of the function is not a function.')
        functions.set(name, made as () => unknown)
        return undefined
      } catch (error) {
        return parts.describeError(error)
      }
    },
    call: (name, args) => {
      try {
        const value = functions.get(name)!(...parse(args).map((wrapped: unknown[]) => wrapped[0]))
        // What JSON would turn into null is no value of the query language.
        const text = typeof value === 'number' && !Number.isFinite(value) ? undefined : stringify(value)
        return text === undefined ? '[]' : `[${text}]`
      } catch (error) {
        return parts.describeError(error)
      }
    },
  }
}
