/**
 * Checks the headers that give a request a priority or a throughput bucket.
 *
 * Every request here has the same priority, and a container's throughput is one bucket. So valid values
 * change nothing, as in an account that has not configured them. Invalid values are refused.
 */

import type { IncomingHttpHeaders } from 'node:http'
import { malformed } from '../definitions/definition-input.ts'
import { headerOf } from './request.ts'

const priorityHeader = 'x-ms-cosmos-priority-level'
const bucketHeader = 'x-ms-cosmos-throughput-bucket'

/** The service has five buckets. */
const bucketPattern = /^[1-5]$/

export function checkPriority(headers: IncomingHttpHeaders): void {
  // Nearly all requests have neither.
  if (headers[priorityHeader] === undefined && headers[bucketHeader] === undefined) return
  const priority = headerOf({ headers }, priorityHeader)
  // INFERRED texts.
  if (priority !== undefined && !['high', 'low'].includes(priority.toLowerCase())) {
    malformed(`The value specified for the header '${priorityHeader}' is invalid: it must be 'High' or 'Low'.`)
  }
  const bucket = headerOf({ headers }, bucketHeader)
  if (bucket !== undefined && !bucketPattern.test(bucket)) {
    malformed(`The value specified for the header '${bucketHeader}' is invalid: it must be a number from 1 to 5.`)
  }
}
