/** Logs the events of the clock: a doubt begins, the clock comes back, the time is trusted. */

import type { ClockEvent } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'

export function logClockEvent(log: Logger, { kind, doubt, now, sure, endsByItself }: ClockEvent): void {
  const facts = { now, sure, aheadSeconds: now - sure }
  if (kind === 'returned') {
    log.warn(facts, 'the clock of this machine has come back, and item time with it; nothing was removed because of it')
  } else if (kind === 'trusted') {
    log.info(facts, 'the time is trusted; dead items are removed again')
  } else if (endsByItself) {
    log.info(facts, 'the data was not used for a while; items that have died since are removed a few minutes from now')
  } else {
    const cause =
      doubt.kind === 'step' ? 'the clock of this machine has jumped ahead' : 'the data was not used for a long time'
    log.warn(
      { ...facts, since: doubt.since },
      `${cause}; reads follow, but nothing is removed because of it; if the time is right: mayfly clock trust`,
    )
  }
}
