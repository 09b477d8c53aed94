/** The running commands: who sent them, since when they run, and whether they must stop. */

import { machine } from '../../base/clock.ts'
import { bsonType } from '../../document/bson/types.ts'
import { CommandError } from '../answers/command-error.ts'
import type { Fields } from '../answers/fields.ts'
import type { Arguments } from '../requests/arguments.ts'

export type OperationDetails = Pick<Operation, 'args' | 'database' | 'connectionId'>

export class Operation {
  readonly id: number
  readonly args: Arguments
  readonly database: string
  readonly connectionId: number
  readonly startMs = machine.monotonicMs()
  /** The end of `maxTimeMS`. Undefined: no limit. */
  #endMs: number | undefined
  #isKilled = false
  #isAbandoned = false

  constructor(id: number, details: OperationDetails) {
    this.id = id
    this.args = details.args
    this.database = details.database
    this.connectionId = details.connectionId
  }

  limit(maxTimeMs: number | undefined): void {
    if (maxTimeMs !== undefined && maxTimeMs > 0) this.#endMs = this.startMs + maxTimeMs
  }

  kill(): void {
    this.#isKilled = true
  }

  /** The client has gone: nobody waits for the answer. */
  abandon(): void {
    this.#isAbandoned = true
  }

  get isAbandoned(): boolean {
    return this.#isAbandoned
  }

  /** Called between slices of long work. Throws if the command must stop. */
  check(): void {
    if (this.#isKilled) throw new CommandError('Interrupted', 'operation was interrupted')
    if (this.#isAbandoned) throw new CommandError('Interrupted', 'the client has gone')
    if (this.#endMs !== undefined && machine.monotonicMs() > this.#endMs) {
      throw new CommandError('MaxTimeMSExpired', 'operation exceeded time limit')
    }
  }

  get elapsedMs(): number {
    return machine.monotonicMs() - this.startMs
  }
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
  }

  /** Stops the commands of a client that has gone. */
  abandon(connectionId: number): void {
    for (const operation of this.#running.values()) {
      if (operation.connectionId === connectionId) operation.abandon()
    }
  }

  find(id: number): Operation | undefined {
    return this.#running.get(id)
  }

  list(): Operation[] {
    return [...this.#running.values()]
  }
}

/** As `currentOp` shows it. */
export function describeOperation(operation: Operation): Fields {
  const { id, args, database, connectionId, elapsedMs } = operation
  const subject = args.value(args.name)
  const collection = subject?.type === bsonType.string ? subject.value : undefined
  return {
    type: 'op',
    desc: `conn${connectionId}`,
    connectionId,
    active: true,
    opid: id,
    secs_running: BigInt(Math.floor(elapsedMs / 1000)),
    microsecs_running: BigInt(Math.floor(elapsedMs * 1000)),
    op: 'command',
    ns: collection === undefined ? database : `${database}.${collection}`,
    command: { [args.name]: collection ?? 1, $db: database },
  }
}
