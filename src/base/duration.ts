/** Durations as people write them: `90d`, `24h`, `5m`, `60s`, `2 weeks`, or seconds alone. */

import { RequestError } from './error.ts'

const minute = 60
const hour = 60 * minute
const day = 24 * hour
const week = 7 * day

const secondsPer: Readonly<Record<string, number>> = {
  ...{ s: 1, second: 1, m: minute, minute, h: hour, hour },
  ...{ d: day, day, w: week, week },
}

/** In seconds. */
export function parseDuration(given: unknown): number {
  const text = typeof given === 'number' ? String(given) : given
  const match = typeof text === 'string' ? /^(\d{1,12})(?: ?([a-z]+))?$/.exec(text) : null
  const unit = match?.[2] ?? 's'
  const seconds = Number(match?.[1]) * (secondsPer[unit] ?? secondsPer[unit.replace(/s$/, '')] ?? Number.NaN)
  if (!Number.isSafeInteger(seconds)) {
    throw new RequestError(
      'malformed',
      `'${String(given).slice(0, 32)}' is not a duration. Write a whole number and a unit, or seconds alone: ` +
        '60s, 5m, 24h, 90d, 2w or 3600.',
    )
  }
  return seconds
}
