/**
 * Sessions: what a client says in several commands under one id.
 *
 * They begin with their first use and end when told, or when they have not been used for half an hour. A
 * session that is neither in a transaction nor remembered for its retryable writes costs nothing to forget.
 */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { RequestStatistics } from './client.ts'
import { mongoSessionMinutes, type RetryRecord } from './retry-record.ts'
import type { Transaction } from './transaction.ts'

const mongoSessionsMax = 100_000

const idleMsMax = mongoSessionMinutes * 60_000
/** A session moves up among the others no more often than this: every command has one. */
const touchMs = 10_000

export class ClientSession {
  /** The id as text, unique for each user. */
  readonly key: string
  /** Sixteen bytes. */
  readonly id: Uint8Array
  usedMs = machine.monotonicMs()
  transaction: Transaction | undefined
  /** The highest transaction number seen. */
  txnNumber = -1n
  /** What the writes under that number came to, when they are retryable. */
  record: RetryRecord | undefined
  /** What is stored of it. */
  stored: RetryRecord | undefined
  /**
   * What the last command on documents cost: of a client with several connections this is what it knows of
   * its own.
   */
  last: RequestStatistics | undefined
  /** Whether it is known what is stored. */
  isLoaded = false
  #turn: Promise<unknown> = Promise.resolve()

  constructor(key: string, id: Uint8Array) {
    this.key = key
    this.id = id
  }

  /** One after the other: a write that is sent again must not overtake the first attempt. */
  exclusively<T>(work: () => Promise<T>): Promise<T> {
    const done = this.#turn.then(work)
    this.#turn = done.catch(() => {})
    return done
  }
}

export class Sessions {
  /** In the order of their last use: a Map keeps insertion order. */
  readonly #sessions = new Map<string, ClientSession>()

  get size(): number {
    return this.#sessions.size
  }

  list(): ClientSession[] {
    return [...this.#sessions.values()]
  }

  /** The session of an `lsid`, which begins if it is not there. */
  use(lsid: BsonDocument): ClientSession {
    const id = sessionId(lsid)
    const session = this.#sessions.get(keyOf(id))
    if (session === undefined) return this.begin(id)
    const nowMs = machine.monotonicMs()
    if (nowMs - session.usedMs > touchMs) {
      this.#sessions.delete(session.key)
      session.usedMs = nowMs
      this.#sessions.set(session.key, session)
    }
    return session
  }

  begin(id: Uint8Array): ClientSession {
    this.forgetOld()
    if (this.#sessions.size >= mongoSessionsMax) {
      throw new CommandError('TooManyLogicalSessions', 'There are too many sessions; end some')
    }
    const session = new ClientSession(keyOf(id), Uint8Array.from(id))
    this.#sessions.set(session.key, session)
    return session
  }

  find(lsid: BsonDocument): ClientSession | undefined {
    return this.#sessions.get(keyOf(sessionId(lsid)))
  }

  end(session: ClientSession): void {
    session.transaction?.abort()
    this.#sessions.delete(session.key)
  }

  /** The least recently used stand first. */
  forgetOld(): void {
    const before = machine.monotonicMs() - idleMsMax
    for (const session of this.#sessions.values()) {
      if (session.usedMs > before) return
      this.end(session)
    }
  }
}

function keyOf(id: Uint8Array): string {
  return Buffer.from(id.buffer, id.byteOffset, id.length).toString('hex')
}

function sessionId(lsid: BsonDocument): Uint8Array {
  const id = lsid.get('id')
  if (id?.type !== bsonType.binary || id.subtype !== 4 || id.value.length !== 16) {
    throw new CommandError('TypeMismatch', "BSON field 'lsid.id' is not a UUID")
  }
  return id.value
}
