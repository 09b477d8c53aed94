/**
 * The settings of a container about time: its default time to live, and two with similar names.
 *
 * `analyticalStorageTtl` is checked and echoed; there is no analytical store. `ttlPropertyPath` counted
 * lifetimes from a property of the item instead of `_ts`. It is obsolete in the SDKs and refused here: if an
 * item stated its own age, it could be written dead, or an edit could bring it back, and death is final.
 */

import { RequestError } from '../../base/error.ts'
import { invalidTtlText, isTtl, ttlSecondsMax } from '../../ttl/lifespan.ts'
import { malformed, showValue } from './definition-input.ts'

/** Seconds, -1 for "on, without a default", or undefined for off. */
export function parseDefaultTtl(input: unknown): number | undefined {
  if (input === undefined || input === null) return undefined
  if (isTtl(input)) return input
  // The text is the service's for items. Its text for containers is not documented; INFERRED to be the same.
  malformed(invalidTtlText(input))
}

/** Seconds, -1 for ever, or undefined if the analytical store is off (null or 0). */
export function parseAnalyticalStorageTtl(input: unknown): number | undefined {
  if (input === undefined || input === null || input === 0) return undefined
  if (isTtl(input)) return input
  // INFERRED.
  malformed(
    `The input analyticalStorageTtl '${showValue(input)}' is invalid. Ensure to provide a nonzero positive integer ` +
      `less than or equal to '${ttlSecondsMax}', '-1' which means never expire, or '0' which means off.`,
  )
}

export function refuseTtlPropertyPath(input: unknown, defaultTtl: number | undefined): void {
  if (input === undefined || input === null) return
  // That it needs a default is the service's rule (azure-cosmos-dotnet-v3, TimeToLivePropertyPath). INFERRED
  // text.
  if (defaultTtl === undefined) malformed("'ttlPropertyPath' cannot be specified when 'defaultTtl' is not specified.")
  throw new RequestError(
    'unsupported',
    "'ttlPropertyPath' is obsolete and not supported. Time to live is counted from the last modification of an " +
      'item (_ts).',
  )
}
