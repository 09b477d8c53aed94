/**
 * Sessions: the state that several commands of a client share under one id.
 *
 * A session begins with its first use. It ends when told, or after half an hour without use. Forgetting a
 * session without a transaction or a retry record loses nothing.
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import type { ItemKey } from '../../store/item.ts'
import { CommandError } from '../answers/command-error.ts'
import type { RequestStatistics } from './client.ts'
import { mongoSessionMinutes, type RetryRecord } from './retry-record.ts'
import type { Transaction } from './transaction.ts'

const mongoSessionsMax = 100_000

const idleMsMax = mongoSessionMinutes * 60_000
/** A session's time of last use is updated at most this often, because every command has a session. */
const touchMs = 10_000

export class ClientSession {
  /** The id as text, and the owner: two users may have the same id. */
  readonly key: string
  /** Undefined: the account. */
  readonly owner: string | undefined
  /** Sixteen bytes. */
  readonly id: Uint8Array
  usedMs = machine.monotonicMs()
  transaction: Transaction | undefined
  /** The highest transaction number seen. */
  txnNumber = -1n
  /** The results under that number, if its writes are retryable. */
  record: RetryRecord | undefined
  recordKey: ItemKey | undefined
  /** The record as it is stored. */
  stored: RetryRecord | undefined
  /**
   * The cost of the last command on documents. A client with several connections finds its own cost here.
   */
  last: RequestStatistics | undefined
  /** Whether `stored` is up to date. */
  isLoaded = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(id: Uint8Array, owner: string | undefined) {
    this.key = keyOf(id, owner)
    this.id = id
    this.owner = owner
  }

  /** Runs work of this session one after the other: a repeated write must not overtake the first attempt. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

export class Sessions {
  /** Least recently used first: a Map keeps insertion order. */
  readonly #sessions = new Map<string, ClientSession>()

  get size(): number {
    return this.#sessions.size
  }

  list(): ClientSession[] {
    return [...this.#sessions.values()]
  }

  /** The session of an `lsid`. It is created on first use. */
  use(lsid: BsonDocument, owner: string | undefined): ClientSession {
    const id = sessionId(lsid)
    const session = this.#sessions.get(keyOf(id, owner))
    if (session === undefined) return this.begin(id, owner)
    const nowMs = machine.monotonicMs()
    if (nowMs - session.usedMs > touchMs) {
      this.#sessions.delete(session.key)
      session.usedMs = nowMs
      this.#sessions.set(session.key, session)
    }
    return session
  }

  begin(id: Uint8Array, owner: string | undefined): ClientSession {
    this.forgetOld()
    if (this.#sessions.size >= mongoSessionsMax) {
      throw new CommandError('TooManyLogicalSessions', 'There are too many sessions; end some')
    }
    const session = new ClientSession(Uint8Array.from(id), owner)
    this.#sessions.set(session.key, session)
    return session
  }

  find(lsid: BsonDocument, owner: string | undefined): ClientSession | undefined {
    return this.#sessions.get(keyOf(sessionId(lsid), owner))
  }

  end(session: ClientSession): void {
    session.transaction?.abort()
    this.#sessions.delete(session.key)
  }

  /** The least recently used sessions come first. */
  forgetOld(): void {
    const before = machine.monotonicMs() - idleMsMax
    for (const session of this.#sessions.values()) {
      if (session.usedMs > before) return
      this.end(session)
    }
  }
}

function keyOf(id: Uint8Array, owner: string | undefined): string {
  const text = Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
  return owner === undefined ? text : `${text} ${owner}`
}

function sessionId(lsid: BsonDocument): Uint8Array {
  const id = lsid.get('id')
  if (id?.type !== bsonType.binary || id.subtype !== 4 || id.value.length !== 16) {
    throw new CommandError('TypeMismatch', "BSON field 'lsid.id' is not a UUID")
  }
  return id.value
}
