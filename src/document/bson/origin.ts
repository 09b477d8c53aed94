/**
 * The origin of a value: the document that it comes from, and the times that tell whether it is alive.
 *
 * A pipeline may hold values for longer than their documents live. A value that shows something of one
 * document carries an origin, and is left out when that document is dead. A value that was computed from
 * several documents, such as a sum, has no origin. A value that needs two living documents has both (`and`).
 * No deadline is computed in advance: the policy of the collection may change.
 */

export interface Origin {
  /** The number of the container. */
  readonly container: number
  /** The sequence number of the item, or -1 for several items of which one must be alive. */
  readonly sequence: number
  /** When it was written, if it inherits its lifespan; otherwise before all time. */
  readonly writtenAt: number
  /** Its own deadline, if it has one; otherwise before all time. */
  readonly deadline: number
  /** Another document that must be alive as well. */
  readonly and: Origin | undefined
}

export type IsAlive = (origin: Origin) => boolean

function isSameItem(left: Origin, right: Origin): boolean {
  return left.container === right.container && left.sequence === right.sequence && left.sequence !== -1
}

/** Whether both name the same document, and only that. */
export function isSameOrigin(left: Origin, right: Origin): boolean {
  return left === right || (left.and === undefined && right.and === undefined && isSameItem(left, right))
}

/** The common origin of two rows if both come from the same document; otherwise undefined. */
export function onlyOrigin(left: Origin | undefined, right: Origin | undefined): Origin | undefined {
  return left !== undefined && right !== undefined && isSameOrigin(left, right) ? left : undefined
}

function needs(origin: Origin, item: Origin): boolean {
  for (let at: Origin | undefined = origin; at !== undefined; at = at.and) if (isSameItem(at, item)) return true
  return false
}

/** An origin that needs the documents of both to be alive. */
export function bothOf(left: Origin | undefined, right: Origin | undefined): Origin | undefined {
  if (left === undefined || left === right) return right
  let both = left
  for (let at = right; at !== undefined; at = at.and) if (!needs(both, at)) both = { ...at, and: both }
  return both
}

/**
 * An origin that needs one of two documents alive. Undefined if no origin can say that: then the value stays.
 */
export function eitherOf(left: Origin | undefined, right: Origin | undefined): Origin | undefined {
  if (left === undefined || right === undefined || left === right) return left && right
  if (left.container !== right.container || left.and !== undefined || right.and !== undefined) return undefined
  return {
    container: left.container,
    sequence: isSameItem(left, right) ? left.sequence : -1,
    writtenAt: Math.max(left.writtenAt, right.writtenAt),
    deadline: Math.max(left.deadline, right.deadline),
    and: undefined,
  }
}
