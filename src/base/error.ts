/**
 * The one error hierarchy: the class says who must act, the kind says what happened.
 *
 * No protocol is mentioned here. Each edge maps kinds to its own numbers in one table (`error-map.ts`), which
 * the compiler keeps complete.
 */

export type RequestErrorKind =
  | 'malformed'
  | 'syntax'
  | 'unsupported'
  | 'too_large'
  | 'over_memory'
  | 'not_found'
  | 'namespace_not_found'
  | 'already_exists'
  | 'precondition_failed'
  | 'partition_key_mismatch'
  | 'method_not_allowed'
  | 'unauthenticated'
  | 'forbidden'
  | 'position_gone'

export type CapacityErrorKind = 'throttled' | 'timed_out' | 'unavailable'

export type ErrorKind = RequestErrorKind | CapacityErrorKind | 'internal'

export abstract class MayflyError extends Error {
  abstract readonly kind: ErrorKind
  /** What the failed operation cost. */
  chargeRu = 0
}

/** The caller must change the request. */
export class RequestError extends MayflyError {
  override readonly name = 'RequestError'
  readonly kind: RequestErrorKind

  constructor(kind: RequestErrorKind, message: string, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
  }
}

/** The caller may repeat the request after `retryAfterMs`. */
export class CapacityError extends MayflyError {
  override readonly name = 'CapacityError'
  readonly kind: CapacityErrorKind
  readonly retryAfterMs: number

  constructor(kind: CapacityErrorKind, message: string, retryAfterMs: number, options?: ErrorOptions) {
    super(message, options)
    this.kind = kind
    this.retryAfterMs = retryAfterMs
  }
}

/** We must change the code. */
export class InvariantError extends MayflyError {
  override readonly name = 'InvariantError'
  readonly kind = 'internal'
}

/** Throws an InvariantError when the condition is false. */
export function assert(condition: boolean, sentence: string): asserts condition {
  if (!condition) throw new InvariantError(sentence)
}
