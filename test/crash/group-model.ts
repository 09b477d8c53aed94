/**
 * Items that are written together. A write of all or nothing leaves all members in one state: the one that
 * was acknowledged last, or the one that was under way at the crash. Other writes decide for each member
 * alone.
 *
 * Mongo does not say when it wrote a document. So a state knows the earliest and the latest second.
 */

import type { Timeline } from './timeline.ts'
import { check } from './violation.ts'

export interface Member {
  readonly container: string
  readonly id: string
}

export interface GroupWrite {
  /** Unique for each write. undefined: the members are deleted. */
  readonly serial: string | undefined
  readonly ttl: number | undefined
  /** Whether its members are written together or not at all. */
  readonly isAtomic: boolean
  /** False: it is refused or taken back in the end, so nobody may ever see it. */
  readonly mayHappen: boolean
}

interface State {
  readonly serial: string
  readonly ttl: number | undefined
  readonly from: number
  readonly to: number
}

export interface Sent {
  readonly write: GroupWrite
  /** The second when it was sent. */
  readonly from: number
  mayHappen: boolean
}

export class Group {
  readonly members: readonly Member[]
  readonly #timeline: Timeline
  #present: readonly (State | undefined)[]
  #sent: Sent | undefined

  constructor(timeline: Timeline, members: readonly Member[]) {
    this.#timeline = timeline
    this.members = members
    this.#present = members.map(() => undefined)
  }

  begin(write: GroupWrite): void {
    this.#sent = { write, from: this.#timeline.now, mayHappen: write.mayHappen }
  }

  /** The answer says whether it has happened. */
  finish(hasHappened: boolean, sent = this.#sent!): void {
    if (hasHappened) this.#present = this.members.map(() => this.#stateOf(sent))
    this.#sent = undefined
  }

  /** The write that has no answer yet. */
  get sent(): Sent | undefined {
    return this.#sent
  }

  /** Whether a member may be dead or deleted. */
  get mayMiss(): boolean {
    return this.#present.some((state, at) => this.#explains(state, this.members[at]!, undefined))
  }

  /** Whether the write may have happened although nothing of it is there. */
  mayBeInvisible(sent: Sent): boolean {
    const state = this.#stateOf(sent)
    return this.members.every(member => this.#explains(state, member, undefined))
  }

  /** Takes the serials that were found after a restart. Returns whether the write under way has happened. */
  settle(found: readonly (string | undefined)[]): boolean {
    const before = this.#present
    const sent = this.#sent
    const after = sent?.mayHappen === true ? this.members.map(() => this.#stateOf(sent)) : undefined
    const fits = (states: readonly (State | undefined)[], at: number) =>
      this.#explains(states[at], this.members[at]!, found[at])
    const choices = after === undefined ? [before] : [before, after]
    const isPossible =
      sent?.write.isAtomic === false
        ? this.members.every((_, at) => choices.some(states => fits(states, at)))
        : choices.some(states => this.members.every((_, at) => fits(states, at)))
    check(isPossible, this.#tell(found))
    this.#present = this.members.map((_, at) => {
      if (found[at] === undefined) return undefined
      return choices.map(states => states[at]).find(state => state?.serial === found[at])
    })
    this.#sent = undefined
    return this.#present.some((state, at) => state !== undefined && state !== before[at])
  }

  #stateOf({ write, from }: Sent): State | undefined {
    const { serial, ttl } = write
    return serial === undefined ? undefined : { serial, ttl, from, to: this.#timeline.latest }
  }

  /** Whether a member in this state can be found as it was found, now. */
  #explains(state: State | undefined, { container }: Member, found: string | undefined): boolean {
    const timeline = this.#timeline
    if (state === undefined) return found === undefined
    const { serial, ttl, from, to } = state
    if (found === undefined) return timeline.isPossiblyDead(container, { ts: from, ttl }, timeline.now)
    return found === serial && !timeline.isSurelyDead(container, { ts: to, ttl }, timeline.now, Infinity)
  }

  #tell(found: readonly (string | undefined)[]): string {
    const { members } = this
    const shown = members.map(({ container, id }, at) => `${container}/${id}: ${found[at]}`)
    const states = this.#present.map(state => JSON.stringify(state))
    return (
      `a group was found as ${shown.join(', ')} at ${this.#timeline.now}. Acknowledged: ${states.join(', ')}. ` +
      `Under way: ${JSON.stringify(this.#sent)}`
    )
  }
}
