/** The throughput that a client asks for in the headers of a create request. */

import {
  autoscaleThroughputMin,
  autoscaleThroughputStep,
  throughputMax,
  throughputMin,
  throughputStep,
} from '../../base/limits.ts'
import { fieldOf, isJsonObject, type JsonObject, malformed } from './definition-input.ts'

export type ProvisionedThroughput =
  | { kind: 'manual'; ruPerSecond: number }
  | { kind: 'autoscale'; maxRuPerSecond: number; incrementPercent?: number }

export interface ThroughputHeaders {
  throughput?: string | undefined
  offerType?: string | undefined
  autopilot?: string | undefined
}

/**
 * The old predefined levels. S1 was 250 RU/s, less than today's minimum, so it gets the minimum. INFERRED:
 * the service retired them and does not say how it treats the header now.
 */
const ruPerSecondOfOfferType: ReadonlyMap<string, number> = new Map([
  ['S1', throughputMin],
  ['S2', 1000],
  ['S3', 2500],
])

const autopilotHeader = "the header 'x-ms-cosmos-offer-autopilot-settings'"

export function parseThroughput(headers: ThroughputHeaders): ProvisionedThroughput | undefined {
  const { throughput, offerType, autopilot } = headers
  if ([throughput, offerType, autopilot].filter(header => header !== undefined).length > 1) {
    // INFERRED.
    malformed(
      'Only one of the headers x-ms-offer-throughput, x-ms-offer-type and x-ms-cosmos-offer-autopilot-settings ' +
        'can be specified.',
    )
  }
  if (throughput !== undefined) return checkThroughput({ kind: 'manual', ruPerSecond: parseWholeNumber(throughput) })
  if (autopilot !== undefined) return autoscaleThroughput(parseJsonObject(autopilot), autopilotHeader)
  if (offerType !== undefined) {
    const ruPerSecond = ruPerSecondOfOfferType.get(offerType)
    if (ruPerSecond === undefined) {
      // INFERRED.
      malformed("The value specified for the header 'x-ms-offer-type' is invalid: it must be 'S1', 'S2' or 'S3'.")
    }
    return { kind: 'manual', ruPerSecond }
  }
  return undefined
}

/** Also checks a throughput that did not come in a header, such as the content of a replaced offer. */
export function checkThroughput(throughput: ProvisionedThroughput): ProvisionedThroughput {
  const range =
    throughput.kind === 'manual'
      ? { value: throughput.ruPerSecond, min: throughputMin, step: throughputStep }
      : { value: throughput.maxRuPerSecond, min: autoscaleThroughputMin, step: autoscaleThroughputStep }
  const { value, min, step } = range
  const isInRange = Number.isSafeInteger(value) && value >= min && value <= throughputMax && value % step === 0
  if (isInRange) return throughput

  let text =
    `The offer should have valid throughput values between ${min} and ${throughputMax} inclusive in increments of ` +
    `${step}.`
  if (value < min) text += ` Requested throughput ${value} is less than required minimum throughput ${min}.`
  malformed(text)
}

/** Parses autoscale settings from a header or an offer. `where` names the source in error texts. */
export function autoscaleThroughput(settings: JsonObject, where: string): ProvisionedThroughput {
  const maxRuPerSecond = fieldOf(settings, 'maxThroughput')
  if (typeof maxRuPerSecond !== 'number') refuseAutopilotSettings(where)

  const incrementPercent = incrementPercentOf(settings, where)
  return checkThroughput(
    incrementPercent === undefined
      ? { kind: 'autoscale', maxRuPerSecond }
      : { kind: 'autoscale', maxRuPerSecond, incrementPercent },
  )
}

/** The value at `autoUpgradePolicy.throughputPolicy.incrementPercent`. SDKs write 0 for "do not grow". */
function incrementPercentOf(settings: JsonObject, where: string): number | undefined {
  let value: unknown = settings
  for (const name of ['autoUpgradePolicy', 'throughputPolicy', 'incrementPercent']) {
    if (!isJsonObject(value)) refuseAutopilotSettings(where)
    value = fieldOf(value, name)
    if (value === undefined) return undefined
  }
  if (typeof value !== 'number' || !Number.isSafeInteger(value) || value < 0) refuseAutopilotSettings(where)
  return value
}

function parseJsonObject(text: string): JsonObject {
  try {
    const parsed: unknown = JSON.parse(text)
    if (isJsonObject(parsed)) return parsed
  } catch {
    // Invalid JSON gets the same error as JSON of another shape.
  }
  refuseAutopilotSettings(autopilotHeader)
}

function parseWholeNumber(text: string): number {
  const digits = text.startsWith('-') ? text.slice(1) : text
  const isWhole = digits.length > 0 && digits.length <= 15 && [...digits].every(digit => digit >= '0' && digit <= '9')
  // INFERRED.
  if (!isWhole)
    malformed("The value specified for the header 'x-ms-offer-throughput' is invalid: it must be an integer.")
  return Number(text)
}

/** INFERRED, after the text for x-ms-cosmos-throughput-bucket. */
function refuseAutopilotSettings(where: string): never {
  malformed(`The value specified for ${where} is invalid: it must be a JSON object with a number 'maxThroughput'.`)
}
