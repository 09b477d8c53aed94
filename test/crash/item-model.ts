/**
 * The acknowledged items of one container, and for each at most one operation under way.
 *
 * Every item belongs to one actor, which sends one operation at a time. So after a crash an item has the
 * state that was acknowledged last, or the state after the operation under way. Nothing else is allowed. The
 * timeline says whether an acknowledged item is still alive.
 */

import type { Reply } from './client.ts'
import type { Life, Timeline } from './timeline.ts'
import { Versions } from './versions.ts'
import { check } from './violation.ts'

export interface Attempt {
  readonly kind: 'create' | 'replace' | 'upsert' | 'delete' | 'read'
  readonly id: string
  /** The JSON that was sent; empty for deleting and reading. No two writes send the same. */
  readonly text: string
  readonly ttl: number | undefined
}

/** An item as the server returned it. */
export interface Known extends Life {
  readonly text: string
  readonly etag: string
  readonly version: number
  readonly rid: string
}

interface Sent {
  readonly attempt: Attempt
  /** The acknowledged state when the request was sent. */
  readonly now: number
  readonly epochs: number
  readonly version: number
}

interface Slot {
  present: Known | undefined
  sent: Sent | undefined
  readonly trace: string[]
}

const traceMax = 12

export interface Settled {
  readonly isAlive: boolean
  /** A write was under way at the crash. */
  readonly wasUnderWay: boolean
  /** The state differs from the acknowledged one, so that write has happened. */
  readonly hasHappened: boolean
}

export class ItemModel {
  readonly container: string
  readonly versions = new Versions()
  readonly #timeline: Timeline
  readonly #slots: ReadonlyMap<string, Slot>

  constructor(timeline: Timeline, container: string, ids: readonly string[]) {
    this.#timeline = timeline
    this.container = container
    this.#slots = new Map(ids.map(id => [id, { present: undefined, sent: undefined, trace: [] }]))
  }

  get ids(): string[] {
    return [...this.#slots.keys()]
  }

  /** The state that was acknowledged last, dead or alive. */
  known(id: string): Known | undefined {
    return this.#slot(id).present
  }

  begin(attempt: Attempt): void {
    const { now } = this.#timeline
    const epochs = this.#timeline.epochCount(this.container)
    const slot = this.#slot(attempt.id)
    slot.sent = { attempt, now, epochs, version: this.versions.newest }
    note(slot, `at ${now} ${attempt.kind} ${attempt.text.slice(0, 60)}`)
  }

  /** Checks that the answer of an operation is possible, and makes it the known state. */
  finish(id: string, reply: Reply): void {
    const slot = this.#slot(id)
    const sent = slot.sent!
    const { kind } = sent.attempt
    slot.sent = undefined
    note(slot, `answered ${reply.status}`)
    const found = this.#judge(slot, sent, reply)
    check(
      reply.lsn === undefined || reply.lsn >= sent.version,
      `the container is at version ${reply.lsn} after ${sent.version}`,
    )
    const before = slot.present
    if (kind === 'delete' && found) this.versions.give(reply.lsn!)
    if (kind === 'delete' || !found) slot.present = undefined
    if (reply.status !== 200 && reply.status !== 201) return
    const item = parseItem(reply.text)
    if (kind === 'read') {
      this.#same(slot, item)
      return
    }
    this.#isWritten(item, sent)
    check((before?.rid === item.rid) === found, `${found ? 'replacing changed' : 'creating reused'} the id ${item.rid}`)
    this.versions.give(item.version)
    slot.present = item
  }

  /**
   * Takes the result of a point read after a restart. The operation under way has happened or never will, so
   * this becomes the known state.
   */
  settle(id: string, reply: Reply): Settled {
    const slot = this.#slot(id)
    const { present, sent } = slot
    note(slot, `after restart at ${this.#timeline.now}: ${reply.status}`)
    const isGone = present === undefined || this.#isDead(present)
    if (reply.status === 404) {
      check(
        isGone || (sent !== undefined && this.#mayHaveEnded(sent)),
        this.#tell(slot, 'an acknowledged item that is alive is lost'),
      )
      slot.present = undefined
    } else {
      check(reply.status === 200, this.#tell(slot, `answered ${reply.status} ${reply.text}`))
      const item = parseItem(reply.text)
      if (present !== undefined && item.version === present.version) {
        check(!isGone, this.#tell(slot, 'a dead item is back'))
        this.#same(slot, item)
      } else {
        check(
          sent !== undefined && sent.attempt.text !== '' && isCopy(item, sent.attempt.text),
          this.#tell(slot, `nobody wrote ${reply.text.slice(0, 200)}`),
        )
        this.#isPossible(slot, sent, item)
        this.versions.give(item.version)
        slot.present = item
      }
    }
    slot.sent = undefined
    return {
      isAlive: slot.present !== undefined,
      wasUnderWay: sent !== undefined && sent.attempt.kind !== 'read',
      hasHappened: slot.present !== undefined ? slot.present !== present : !isGone,
    }
  }

  /**
   * Whether the answer says that a living item was found. Throws if the known state makes that impossible.
   */
  #judge({ present, trace }: Slot, { attempt, now, epochs }: Sent, { status, text }: Reply): boolean {
    const found = answers[attempt.kind][status]
    check(found !== undefined, `${attempt.kind} was answered with ${status} ${text}: ${trace.join('; ')}`)
    // A written item carries its moment; for other answers only the limits are known.
    const ts = attempt.kind !== 'read' && status < 300 && text !== '' ? parseItem(text).ts : undefined
    const isDead = present === undefined || this.#timeline.isSurelyDead(this.container, present, ts ?? now, epochs)
    const mayBeDead =
      present === undefined || this.#timeline.isPossiblyDead(this.container, present, ts ?? this.#timeline.latest)
    check(!(found && isDead), `${attempt.kind} found an item that is gone: ${trace.join('; ')}`)
    check(found || mayBeDead, `${attempt.kind} did not find an item that is alive: ${trace.join('; ')}`)
    return found
  }

  #isWritten(item: Known, { attempt, now }: Sent): void {
    check(isCopy(item, attempt.text), `the stored item is not what was sent: ${item.text}`)
    check(item.ttl === attempt.ttl, `ttl ${attempt.ttl} was stored as ${item.ttl}`)
    const { latest } = this.#timeline
    check(item.ts >= now && item.ts <= latest, `written at ${item.ts}, when the clock was between ${now} and ${latest}`)
  }

  #same({ present, trace }: Slot, item: Known): void {
    check(item.text === present!.text, `${item.text} is not what was acknowledged: ${trace.join('; ')}`)
  }

  /** The operation under way at the crash has happened: checks that this was possible. */
  #isPossible(slot: Slot, sent: Sent, item: Known): void {
    this.#isWritten(item, sent)
    const { present } = slot
    const wasGone = present === undefined || this.#timeline.isPossiblyDead(this.container, present, item.ts)
    const wasThere =
      present !== undefined && !this.#timeline.isSurelyDead(this.container, present, item.ts, sent.epochs)
    const { kind } = sent.attempt
    // A replaced item keeps its resource id; over a dead or absent one a new incarnation starts.
    const wasReplaced = present?.rid === item.rid
    check(
      wasReplaced ? wasThere && kind !== 'create' : wasGone && kind !== 'replace',
      this.#tell(
        slot,
        `${wasReplaced ? 'an item was replaced that was gone' : 'an item was created over a living one'}`,
      ),
    )
    check(!this.#isDead(item), this.#tell(slot, 'an item is visible that died before the crash'))
  }

  /**
   * A living item is not found after a restart: did the operation under way remove it, or replace it by one
   * that died?
   */
  #mayHaveEnded({ attempt, now }: Sent): boolean {
    if (attempt.kind === 'delete') return true
    return (attempt.kind === 'replace' || attempt.kind === 'upsert') && this.#isDead({ ts: now, ttl: attempt.ttl })
  }

  /** Judges by the known state; used if nothing is under way. */
  #isDead(life: Life): boolean {
    return this.#timeline.isPossiblyDead(this.container, life, this.#timeline.now)
  }

  #tell(slot: Slot, sentence: string): string {
    const { present } = slot
    return (
      `${sentence} in ${this.container}. Acknowledged: ${present?.text.slice(0, 160) ?? 'nothing'}. History: ` +
      `${slot.trace.join('; ')}`
    )
  }

  #slot(id: string): Slot {
    return this.#slots.get(id)!
  }
}

/** The possible answers, and whether each says that a living item was found. */
const answers: Readonly<Record<Attempt['kind'], Readonly<Record<number, boolean>>>> = {
  create: { 201: false, 409: true },
  replace: { 200: true, 404: false },
  upsert: { 200: true, 201: false },
  delete: { 204: true, 404: false },
  read: { 200: true, 404: false },
}

export function parseItem(text: string): Known {
  const { ttl, _ts, _etag, _rid } = JSON.parse(text)
  return { text, ts: _ts, ttl, etag: _etag, rid: _rid, version: versionOf(_etag) }
}

/** The last twelve digits of an etag count the writes. */
export function versionOf(etag: string): number {
  return Number.parseInt(etag.replaceAll('"', '').slice(-12), 16)
}

/** The server stores the text as it arrived and adds its own properties at the end. */
function isCopy({ text }: Known, sent: string): boolean {
  return text.startsWith(`${sent.slice(0, -1)},"_rid"`)
}

function note({ trace }: Slot, event: string): void {
  trace.push(event)
  if (trace.length > traceMax) trace.shift()
}
