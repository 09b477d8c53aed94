/**
 * The origin of a value: the document that it comes from, and what is needed to judge whether that is alive.
 *
 * A pipeline may hold values for longer than their documents live. A value that shows something of one
 * document carries its origin, and is left out when the document is dead. A value that was made of several
 * documents has none. No deadline is computed in advance: the policy of the collection may change.
 */

export interface Origin {
  /** The number of the container. */
  readonly container: number
  /** The sequence number of the item, or -1 if any of several may be alive. */
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

/** Whether both are one document, and no other. */
export function isSameOrigin(left: Origin, right: Origin): boolean {
  return left === right || (left.and === undefined && right.and === undefined && isSameItem(left, right))
}

/** The origin of two rows if both come from one document. */
export function onlyOrigin(left: Origin | undefined, right: Origin | undefined): Origin | undefined {
  return left !== undefined && right !== undefined && isSameOrigin(left, right) ? left : undefined
}

function needs(origin: Origin, item: Origin): boolean {
  for (let at: Origin | undefined = origin; at !== undefined; at = at.and) if (isSameItem(at, item)) return true
  return false
}

/** The documents of both must be alive. */
export function bothOf(left: Origin | undefined, right: Origin | undefined): Origin | undefined {
  if (left === undefined || left === right) return right
  let both = left
  for (let at = right; at !== undefined; at = at.and) if (!needs(both, at)) both = { ...at, and: both }
  return both
}

/** One of two documents must be alive. Undefined if that cannot be told: such a value stays. */
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
