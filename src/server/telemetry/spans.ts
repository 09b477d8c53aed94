/** Makes a span of OpenTelemetry (in the JSON form of OTLP) from an answered request. */

import { randomBytes } from 'node:crypto'
import type { Answered } from '../../base/answered.ts'
import { attributes, nanoseconds } from './otlp-values.ts'
import type { Sampling } from './settings.ts'

export interface TraceSpan {
  readonly traceId: string
  readonly [name: string]: unknown
}

/** https://www.w3.org/TR/trace-context/#traceparent-header */
const traceParent = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/

const kindServer = 2
const statusError = 2

/** Undefined if the trace is not kept. */
export function spanOf(answered: Answered, endMs: number, { followsParent, ratio }: Sampling): TraceSpan | undefined {
  const { protocol, operation, status, chargeRu, ms, target, activityId } = answered
  const [, parentTrace, parentSpan, flags] = traceParent.exec(answered.traceParent ?? '') ?? []
  const traceId = parentTrace ?? randomBytes(16).toString('hex')
  const isKept =
    followsParent && flags !== undefined ? (Number.parseInt(flags, 16) & 1) === 1 : isWithin(traceId, ratio)
  if (!isKept) return undefined
  const isFailure = protocol === 'mongo' ? status !== 0 : status >= 500
  return {
    traceId,
    spanId: randomBytes(8).toString('hex'),
    ...(parentSpan !== undefined && { parentSpanId: parentSpan }),
    name: operation,
    kind: kindServer,
    startTimeUnixNano: nanoseconds(endMs - ms),
    endTimeUnixNano: nanoseconds(endMs),
    attributes: attributes({
      'db.system.name': protocol === 'mongo' ? 'mongodb' : 'azure.cosmosdb',
      'db.operation.name': operation,
      'db.response.status_code': String(status),
      'azure.cosmosdb.operation.request_charge': chargeRu,
      'mayfly.target': target,
      ...(activityId !== undefined && { 'mayfly.activity_id': activityId }),
    }),
    status: isFailure ? { code: statusError } : {},
  }
}

/** Whether the trace is in the part that is kept: the same traces in every process that sees them. */
function isWithin(traceId: string, ratio: number): boolean {
  return ratio >= 1 || Number.parseInt(traceId.slice(-12), 16) < ratio * 2 ** 48
}
