/**
 * Describes a time in doubt for the page: the cause, the possible error, and when the doubt ends by itself.
 */

import type { Clock } from '../../base/clock.ts'
import type { Engine } from '../../engine/engine.ts'

export function shownDoubt({ moment, sure, doubt }: Awaited<ReturnType<Engine['time']>>, { doubtEndsAt }: Clock) {
  if (doubt === undefined) return undefined
  const { kind, since } = doubt
  return { kind, since, sure, aheadSeconds: moment - sure, ...(doubtEndsAt !== undefined && { endsAt: doubtEndsAt }) }
}
