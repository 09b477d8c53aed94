/** The time to live of a container in one short word: `1 h`, `no default`, `off`, `date`. */

import type { Ttl } from '../api/shapes.ts'
import { spanText } from '../time/time-text.ts'

export function ttlWord(ttl: Ttl): string {
  return ttl.kind === 'on' ? spanText(ttl.seconds) : ttl.kind
}

/** As a sentence, for titles. */
export function ttlTitle(ttl: Ttl): string {
  if (ttl.kind === 'off') return 'Time to Live: Off'
  if (ttl.kind === 'no default') return 'Time to Live: On (no default)'
  if (ttl.kind === 'date') return 'A TTL index on a date field'
  return `Time to Live: On, ${ttl.seconds} s`
}

export function TtlBadge({ ttl }: { ttl: Ttl }) {
  const look = ttl.kind === 'off' ? '' : ttl.kind === 'no default' ? 'nd' : 'on'
  return (
    <span class={`badge ${look}`} title={ttlTitle(ttl)}>
      {ttlWord(ttl)}
    </span>
  )
}
