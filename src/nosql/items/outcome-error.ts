/** The errors for writes that the store refused, in the service's words. */

import { RequestError } from '../../base/error.ts'
import type { StepAnswer } from '../../store/writing.ts'

const outcomes = {
  exists: ['already_exists', 'Entity with the specified id already exists in the system.'],
  missing: ['not_found', 'Entity with the specified id does not exist in the system.'],
  changed: ['precondition_failed', 'One of the specified pre-condition is not met.'],
  // The gateway replaces this text with that of a taken id (xo/dbimp, cosmos-149); clients that speak to the
  // back end see it.
  conflict: ['already_exists', 'Unique index constraint violation.'],
} as const

export function outcomeError(outcome: keyof typeof outcomes): RequestError {
  const [kind, text] = outcomes[outcome]
  return new RequestError(kind, text)
}

/** The error of a step that stopped its transaction. */
export function refusalError(
  refusal: { readonly error: RequestError | undefined },
  last: StepAnswer | undefined,
): RequestError {
  return refusal.error ?? outcomeError(last!.outcome as keyof typeof outcomes)
}
