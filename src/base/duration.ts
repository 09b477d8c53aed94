/** Durations as people write them: `90d`, `24h`, `5m`, `60s`. */

import { RequestError } from './error.ts'

const secondsPer: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 }

export function parseDuration(text: unknown): number {
  const match = typeof text === 'string' ? /^(\d{1,12})([smhd])$/.exec(text) : null
  const seconds = match === null ? Number.NaN : Number(match[1]) * secondsPer[match[2]!]!
  if (!Number.isSafeInteger(seconds)) {
    throw new RequestError(
      'malformed',
      `'${String(text).slice(0, 32)}' is not a duration. Write a whole number and a unit: 60s, 5m, 24h or 90d.`,
    )
  }
  return seconds
}
