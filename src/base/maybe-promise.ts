/**
 * A value that may already be there: an embedded store answers at once, a remote one later, and neither waits
 * in vain.
 */

export type MaybePromise<T> = T | Promise<T>

/** Goes on with the value, without a turn of the event loop when it is already there. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
