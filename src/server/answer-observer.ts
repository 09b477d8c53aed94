/** Reports answered requests: to the counters, to the log at level debug, and to traces if they are kept. */

import type { RequestCounters } from '../admin/metrics/request-counters.ts'
import type { Answered, OnAnswer } from '../base/answered.ts'
import type { Logger } from '../base/log.ts'
import type { Config } from './config.ts'

export interface Observers {
  readonly counters: RequestCounters
  readonly log: Logger
  readonly trace: OnAnswer | undefined
}

export function answerObserver({ logLevel }: Config, { counters, log, trace }: Observers): OnAnswer {
  const observers: OnAnswer[] = [answered => counters.count(answered)]
  if (trace !== undefined) observers.push(trace)
  if (logLevel === 'debug' || logLevel === 'trace') observers.push(answered => logRequest(log, answered))
  const [only, ...others] = observers
  if (others.length === 0) return only!
  return answered => {
    for (const observer of observers) observer(answered)
  }
}

/** The path may name items. Neither bodies nor headers are ever logged. */
function logRequest(log: Logger, { protocol, operation, status, chargeRu, ms, target, activityId }: Answered): void {
  const details = { protocol, operation, target, status, chargeRu, ms: Math.round(ms * 1000) / 1000 }
  log.debug(activityId === undefined ? details : { ...details, activityId }, 'answered')
}
