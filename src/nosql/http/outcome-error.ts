/** The errors for what does not exist or could not be done, in the service's words. */

import { RequestError } from '../../base/error.ts'
import type { StepAnswer, WriteAnswer } from '../../store/writing.ts'

const refusals = {
  exists: ['already_exists', 'Entity with the specified id already exists in the system.'],
  missing: ['not_found', 'Entity with the specified id does not exist in the system.'],
  changed: ['precondition_failed', 'One of the specified pre-condition is not met.'],
  // The gateway replaces this text with that of a taken id (xo/dbimp, cosmos-149); clients that speak to the
  // back end see it.
  conflict: ['already_exists', 'Unique index constraint violation.'],
  /** Another database or container has this name. */
  nameTaken: ['already_exists', 'Resource with specified id, name, or unique index already exists.'],
  /** By a resource token. */
  notPermitted: [
    'forbidden',
    'Insufficient permissions provided in the authorization header for the corresponding request. Please ' +
      'retry with another authorization header.',
  ],
  /** The database or container that the path goes through does not exist. */
  ownerMissing: ['namespace_not_found', 'Owner resource does not exist'],
} as const

export function outcomeError(outcome: keyof typeof refusals, chargeRu = 0): RequestError {
  const [kind, text] = refusals[outcome]
  const error = new RequestError(kind, text)
  error.chargeRu = chargeRu
  return error
}

/** Throws unless the write was done. */
export function checkWritten(outcome: WriteAnswer['outcome'], chargeRu = 0): void {
  if (outcome === 'created' || outcome === 'replaced' || outcome === 'deleted') return
  throw outcomeError(outcome, chargeRu)
}

/** The error of a step that stopped its transaction. */
export function refusalError(
  refusal: { readonly error: RequestError | undefined },
  last: StepAnswer | undefined,
): RequestError {
  return refusal.error ?? outcomeError(last!.outcome as keyof typeof refusals)
}
