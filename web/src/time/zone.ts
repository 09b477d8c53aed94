/** In which time zone the page shows times: the browser's, or UTC on the manual clock. */

import { clockMode } from './clock.ts'
import type { Zone } from './time-text.ts'

export function zone(): Zone {
  return clockMode.value === 'manual' ? 'UTC' : 'local'
}

/** For titles: the exact time, without doubt about the zone. */
export function isoText(ms: number): string {
  return new Date(ms).toISOString().replace('.000Z', 'Z')
}
