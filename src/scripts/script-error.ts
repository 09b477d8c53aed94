/** How scripts fail: what they throw, what they cannot be compiled to, and the time they took too much of. */

import { CapacityError, RequestError } from '../base/error.ts'

/** The service's sub-status of a script that is not JavaScript. */
export const compileErrorNumber = 0xffff

/** The script threw an error, or is none. Nothing it wrote may stay. */
export class ScriptError extends RequestError {
  /** The first argument of `new Error(404, 'text')` in the script. The service sends it as the sub-status. */
  readonly number: number | undefined
  /** What the script had logged by then. */
  readonly log: string

  constructor(message: string, number?: number, log = '') {
    super('malformed', message)
    this.number = number
    this.log = log
  }
}

/** The text is the service's, its spelling too. */
export function timeOver(): CapacityError {
  const message =
    'The requested operation exceeded maximum alloted time. Learn more: https://aka.ms/cosmosdb-tsg-service-request-timeout'
  return new CapacityError('timed_out', message, 0)
}
