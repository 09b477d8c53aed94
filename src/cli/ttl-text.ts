/** Times to live as people write them: `1h`, `3600`, `-1` or `off`. */

import { parseDuration } from '../base/duration.ts'
import { RequestError } from '../base/error.ts'
import { ttlSecondsMax } from '../ttl/lifespan.ts'

/** Seconds, -1 for "on, without a default", or null for off. The server checks the range. */
export function parseTtl(text: string): number | null {
  if (text === 'off') return null
  if (/^-\d+$/.test(text)) return Number(text)
  try {
    return parseDuration(text)
  } catch (error) {
    throw new RequestError(
      'malformed',
      `'${text}' is not a time to live. Write a duration (60s, 5m, 1h, 7d, 2w), seconds from 1 to ${ttlSecondsMax}, ` +
        '-1 (on, without a default), or off.',
      { cause: error },
    )
  }
}
