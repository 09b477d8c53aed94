/** A value or a promise of it: an embedded store answers at once, a remote one later. */

export type MaybePromise<T> = T | Promise<T>

/** Calls `next` with the value: at once if it is there, otherwise when the promise resolves. */
export function andThen<T, U>(value: MaybePromise<T>, next: (value: T) => MaybePromise<U>): MaybePromise<U> {
  return value instanceof Promise ? value.then(next) : next(value)
}
