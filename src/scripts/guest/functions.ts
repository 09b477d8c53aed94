/**
 * User-defined functions inside the sandbox: made once, called once per row.
 *
 * JSON has no undefined, so every value travels in an array: `[]` is undefined, `[x]` is x. An error is an
 * object.
 *
 * This function is sent to the sandbox as text. It may refer only to its parameters and to the language's
 * built-ins.
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
        // JSON would turn NaN and Infinity into null. They become undefined instead.
        const text = typeof value === 'number' && !Number.isFinite(value) ? undefined : stringify(value)
        return text === undefined ? '[]' : `[${text}]`
      } catch (error) {
        return parts.describeError(error)
      }
    },
  }
}
