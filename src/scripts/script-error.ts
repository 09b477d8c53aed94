/** How scripts fail: they throw, do not compile, or take too long. */

import { CapacityError, RequestError } from '../base/error.ts'

/** The service's sub-status for a script that is not JavaScript. */
export const compileErrorNumber = 0xffff

/** The script threw an error or did not compile. Its writes must be rolled back. */
export class ScriptError extends RequestError {
  /** The first argument of `new Error(404, 'text')` in the script. The service sends it as the sub-status. */
  readonly number: number | undefined
  /** What the script had logged so far. */
  readonly log: string

  constructor(message: string, number?: number, log = '') {
    super('malformed', message)
    this.number = number
    this.log = log
  }
}

/** The text, with its spelling, is the service's. */
export function timeOver(): CapacityError {
  const message =
    'The requested operation exceeded maximum alloted time. Learn more: ' +
    'https://aka.ms/cosmosdb-tsg-service-request-timeout'
  return new CapacityError('timed_out', message, 0)
}
