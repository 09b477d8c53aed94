/**
 * The text of a script as a function.
 *
 * The service assigns the text to a variable and calls what it finds there. So the first thing in it must be
 * a function, with or without a name, an arrow or not; further functions may follow on lines of their own and
 * are known to the first. The line of the assignment shows in the service's errors, columns included, and
 * therefore here.
 */

import { KiB } from '../base/limits.ts'
import type { ThrownError } from './guest/thrown-error.ts'
import type { EngineContext, GuestFunction, UncaughtError } from './quickjs.ts'

/** How much of an error that a script throws is passed on. */
const scriptErrorCharsMax = 8 * KiB

const opening = '(function __docDbMain() { var fn = '

/** Calling it gives the script's function. Throws an UncaughtError when the text is not JavaScript. */
export function compileScript(context: EngineContext, body: string, fileName: string): GuestFunction {
  return context.evaluate(`${opening}${body}\n; return fn; })`, fileName)
}

export function compileErrorText({ message, guestStack }: UncaughtError, body: string): string {
  const [, lineText = '1', column = '1'] = /:(\d+):(\d+)\)?\s*$/.exec(guestStack.split('\n', 1)[0]!) ?? []
  const line = Number(lineText)
  const source = `${opening}${body}`.split('\n', line).at(-1)!.slice(0, 1000)
  return (
    `Encountered exception while compiling Javascript. Exception = ${message}\r\n` +
    `Source information: line: ${line}, column: ${column}, source line:\r\n${source}`
  )
}

/** The frames of the sandbox itself, such as the making of errors, say nothing to the script's author. */
export const guestFileName = 'mayfly:guest'

export function executionErrorText({ text, stack }: ThrownError): string {
  const frames = stack.split('\n').map(line => line.trim())
  const isOwn = (line: string) =>
    line.startsWith('at ') && !line.includes(guestFileName) && line !== 'at construct (native)'
  const own = frames.filter(isOwn)
  const trace = own.length === 0 ? '' : `\r\nStack trace: ${[text, ...own.map(line => `   ${line}`)].join('\n')}`
  return `Encountered exception while executing function. Exception = ${text}${trace}`.slice(0, scriptErrorCharsMax)
}

/**
 * What guest code says it caught. Scripts can change the guest's tools under it, so it is read like any other
 * input.
 */
export function readThrownError(text: string): ThrownError {
  try {
    const { text: message, stack, number } = JSON.parse(text)
    if (typeof message === 'string' && typeof stack === 'string') {
      // Sub-statuses are 16 bits wide.
      const isNumber = Number.isInteger(number) && number > 0 && number <= 0xffff
      return { text: message, stack, ...(isNumber ? { number } : {}) }
    }
  } catch {}
  return { text: 'an error that could not be read', stack: '' }
}
