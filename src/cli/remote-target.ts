/**
 * Sends imported rows to a server. Rows without an answer are sent again, and the server stores them once.
 */

import { machine } from '../base/clock.ts'
import { encodeRows } from '../transfer/frames.ts'
import type { InputRow } from '../transfer/input.ts'
import type { KeepTtl } from '../transfer/keep-ttl.ts'
import type { ImportAnswer, ImportMode, ImportTarget } from '../transfer/target.ts'
import { pathOf, Refused, type ServerConnection, Unreachable } from './server-connection.ts'

/** How long a server may be away, for instance during a restart. */
const patienceMs = 30_000

export interface RemoteContainer {
  readonly api: 'nosql' | 'mongo'
  readonly partitionKey: readonly string[]
  readonly defaultTtl: number | null
  /** Differs for a later container of the same name. */
  readonly incarnation: string
}

export interface RemoteTargetOptions {
  readonly database: string
  readonly container: string
  readonly mode: ImportMode
  readonly keepTtl: KeepTtl
  readonly job: string
}

export class RemoteTarget implements ImportTarget {
  readonly #connection: ServerConnection
  readonly #options: RemoteTargetOptions

  constructor(connection: ServerConnection, options: RemoteTargetOptions) {
    this.#connection = connection
    this.#options = options
  }

  prepare(rows: readonly InputRow[], from: number): () => Promise<ImportAnswer> {
    const body = encodeRows(rows)
    return () => this.#send(body, from)
  }

  async #send(body: Buffer, from: number): Promise<ImportAnswer> {
    const { database, container, mode, keepTtl, job } = this.#options
    const startMs = machine.monotonicMs()
    for (let waitMs = 250; ; waitMs = Math.min(2 * waitMs, 4000)) {
      try {
        return await this.#connection.call<ImportAnswer>('POST', `import/${pathOf(database, container)}`, {
          query: { mode, keepTtl, job, from },
          body,
        })
      } catch (error) {
        if (!isPassing(error) || machine.monotonicMs() - startMs > patienceMs) throw error
        await new Promise<void>(resolve => machine.setTimeout(resolve, waitMs))
      }
    }
  }
}

/** Whether another attempt may succeed. */
function isPassing(error: unknown): boolean {
  return error instanceof Unreachable || (error instanceof Refused && [408, 409, 429, 503].includes(error.status))
}
