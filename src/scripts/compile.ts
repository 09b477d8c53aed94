/**
 * Compiles the text of a script into a function.
 *
 * The service assigns the text to a variable and calls its value. So the text must begin with a function:
 * named, anonymous or an arrow. More functions may follow on their own lines; the first one can call them.
 * The assignment shows in the line and column numbers of the service's errors, and therefore here, too.
 */

import { KiB } from '../base/limits.ts'
import type { ThrownError } from './guest/thrown-error.ts'
import type { EngineContext, GuestFunction, UncaughtError } from './quickjs.ts'

/** Most characters of a script's error that are passed on. */
const scriptErrorCharsMax = 8 * KiB

const opening = '(function __docDbMain() { var fn = '

/** Calling the result returns the script's function. Throws an UncaughtError on a syntax error. */
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

/** File name of the sandbox's own code. Its stack frames are hidden from the script's author. */
export const guestFileName = 'mayfly:guest'

export function executionErrorText({ text, stack }: ThrownError): string {
  const frames = stack.split('\n').map(line => line.trim())
  const isOwn = (line: string) =>
    line.startsWith('at ') && !line.includes(guestFileName) && line !== 'at construct (native)'
  const own = frames.filter(isOwn)
  const trace = own.length === 0 ? '' : `\r\nStack trace: ${[text, ...own.map(line => `   ${line}`)].join('\n')}`
  return `Encountered exception while executing function. Exception = ${text}${trace}`.slice(0, scriptErrorCharsMax)
}

/** Parses the error that guest code reports. Untrusted, because scripts can change the guest's tools. */
export function readThrownError(text: string): ThrownError {
  try {
    const { text: message, stack, number } = JSON.parse(text)
    if (typeof message === 'string' && typeof stack === 'string') {
      // Sub-statuses have 16 bits.
      const isNumber = Number.isInteger(number) && number > 0 && number <= 0xffff
      return { text: message, stack, ...(isNumber ? { number } : {}) }
    }
  } catch {}
  return { text: 'an error that could not be read', stack: '' }
}
