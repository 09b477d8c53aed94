/** The running commands: who sent them, since when they run, and whether they must stop. */

import { machine } from '../../base/clock.ts'
import type { BsonDocument } from '../../document/bson/value.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Arguments } from '../requests/arguments.ts'
import type { Client } from '../session/client.ts'

/**
 * Cosmos DB for MongoDB ends every request after a minute. Here that holds for commands that only read, and
 * for what is computed from one document by those that write.
 */
const mongoReadMsMax = 60_000

/** Longer timers would fire at once. */
const timerMsMax = 2 ** 31 - 1

export type OperationDetails = Pick<Operation, 'args' | 'database' | 'client' | 'lsid'>

/**
 * Why a command was ended: it was killed by its id, its cursor was killed, or its collection was dropped.
 */
export type KillReason = keyof typeof killTexts

const killTexts = {
  Interrupted: 'operation was interrupted',
  CursorKilled: 'operation was interrupted because its cursor was killed',
  QueryPlanKilled: 'collection dropped',
} as const

export class Operation {
  readonly id: number
  readonly args: Arguments
  readonly database: string
  readonly client: Client
  readonly lsid: BsonDocument | undefined
  readonly startMs = machine.monotonicMs()
  /** The client has given a `maxTimeMS`. */
  isLimited = false
  /** When it must have ended. Undefined: no limit. */
  #endMs: number | undefined
  #killedBy: KillReason | undefined
  #isAbandoned = false
  #controller: AbortController | undefined
  #timer: NodeJS.Timeout | undefined
  /** Whether it reads from a change stream. */
  isOnStream = false
  /** Set by code that waits for something: called when the command must stop. */
  onStop: (() => void) | undefined

  constructor(id: number, details: OperationDetails) {
    this.id = id
    this.args = details.args
    this.database = details.database
    this.client = details.client
    this.lsid = details.lsid
  }

  /**
   * Sets the limit: `maxTimeMs` of the client. If the client gives none, reads have a limit nevertheless.
   */
  limit(maxTimeMs: number | undefined, isRead: boolean): void {
    this.isLimited = maxTimeMs !== undefined && maxTimeMs > 0
    if (this.isLimited) this.#endMs = this.startMs + maxTimeMs!
    else if (isRead) this.#endMs = this.startMs + mongoReadMsMax
  }

  /** Whether the command may wait as long as it likes: a stream may, unless its client has given a limit. */
  get #waitsForEvents(): boolean {
    return this.isOnStream && !this.isLimited
  }

  kill(reason: KillReason = 'Interrupted'): void {
    this.#killedBy ??= reason
    this.#abortIfOver()
  }

  /** The client has gone, and does not wait for the answer. */
  abandon(): void {
    this.#isAbandoned = true
    this.#abortIfOver()
  }

  get isKilled(): boolean {
    return this.#killedBy !== undefined
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Called between slices of long work. Throws if the command must stop. */
  check(): void {
    const refusal = this.#refusal()
    if (refusal !== undefined) throw refusal
  }

  /**
   * The same for work that cannot call `check`: it is aborted with the error. Made when it is first wanted.
   */
  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController()
      this.#abortIfOver()
      if (this.#endMs !== undefined) this.#watch(this.#controller.signal, this.#endMs)
    }
    return this.#controller.signal
  }

  /**
   * Does one of many parts of the work. A command without a limit may go on as long as it has documents, but
   * none of its parts may take longer than a whole command that reads.
   */
  async part<T>(work: (signal: AbortSignal) => Promise<T>, msMax = mongoReadMsMax): Promise<T> {
    if (this.#endMs !== undefined) return work(this.signal)
    const limit = new AbortController()
    const timer = machine.setTimeout(() => limit.abort(timeIsOver()), msMax).unref()
    try {
      return await work(AbortSignal.any([this.signal, limit.signal]))
    } finally {
      machine.clearTimeout(timer)
    }
  }

  /** A timer may fire a little early. Then it is set again. */
  #watch(signal: AbortSignal, endMs: number): void {
    if (signal.aborted || this.#waitsForEvents) return
    const leftMs = Math.max(0, endMs - machine.monotonicMs())
    const look = () => {
      this.#abortIfOver()
      this.#watch(signal, endMs)
    }
    this.#timer = machine.setTimeout(look, Math.min(leftMs + 1, timerMsMax)).unref()
  }

  end(): void {
    machine.clearTimeout(this.#timer)
  }

  #refusal(): CommandError | undefined {
    if (this.#killedBy !== undefined) return new CommandError(this.#killedBy, killTexts[this.#killedBy])
    if (this.#isAbandoned) return new CommandError('Interrupted', 'the client has gone')
    if (this.#endMs !== undefined && machine.monotonicMs() > this.#endMs && !this.#waitsForEvents) {
      return timeIsOver()
    }
    return undefined
  }

  #abortIfOver(): void {
    const refusal = this.#controller && this.#refusal()
    if (refusal !== undefined) this.#controller?.abort(refusal)
    if (this.#killedBy !== undefined || this.#isAbandoned) this.onStop?.()
  }

  get elapsedMs(): number {
    return machine.monotonicMs() - this.startMs
  }
}

function timeIsOver(): CommandError {
  return new CommandError('MaxTimeMSExpired', 'operation exceeded time limit')
}

export class Operations {
  readonly #running = new Map<number, Operation>()
  #last = 0

  begin(details: OperationDetails): Operation {
    const operation = new Operation(++this.#last, details)
    this.#running.set(operation.id, operation)
    return operation
  }

  end(operation: Operation): void {
    this.#running.delete(operation.id)
    operation.end()
  }

  /** Stops the commands of a client that has gone. */
  abandon(connectionId: number): void {
    for (const operation of this.#running.values()) {
      if (operation.client.connectionId === connectionId) operation.abandon()
    }
  }

  find(id: number): Operation | undefined {
    return this.#running.get(id)
  }

  list(): Operation[] {
    return [...this.#running.values()]
  }
}
