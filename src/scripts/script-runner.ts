/**
 * Runs stored procedures and triggers: the door for the edge.
 *
 * Runs take turns on a few threads. How a run and its caller work together is said in host.ts; how scripts
 * see the database, in docs/scripts.md.
 */

import { CapacityError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import type { Links } from './guest/collection.ts'
import type { GuestSettings } from './guest/script.ts'
import type { ScriptHost } from './host.ts'
import { type RunDone, ScriptLane } from './script-lane.ts'

/** The service gives a stored procedure or trigger five seconds. */
const scriptMsMax = 5000

/** What a script may send back: as much as a page. The service's limit is the same, in characters. */
export const scriptResponseCharsMax = 4 * MiB

/**
 * Threads that run scripts, so that one script in a loop does not stop all others; and how many runs may wait
 * for one.
 */
export const scriptThreadsMax = 2
const scriptRunsWaitingMax = 256

export interface ScriptRun {
  /** The script's name, for its stack traces. */
  readonly id: string
  readonly body: string
  readonly links: Links
  readonly host: ScriptHost
  /** What the script's clock says when it starts. */
  readonly epochMs: number
  /** Headers of the request by lower-case name, for `getRequest().getValue(name)`. */
  readonly headers?: Readonly<Record<string, string>>
  readonly msMax?: number
}

export interface StoredProcedureRun extends ScriptRun {
  /** JSON text of a list. */
  readonly args: string
}

export interface StoredProcedureOutcome {
  /** JSON text. */
  readonly body: string
  readonly log: string
}

export interface TriggerRun extends ScriptRun {
  readonly type: 'pre' | 'post'
  readonly operation: 'Create' | 'Upsert' | 'Replace' | 'Delete'
  /** JSON text of the item; a delete has none. */
  readonly requestBody: string | undefined
  /** JSON text of the item as it was written; post-triggers only. */
  readonly responseBody?: string | undefined
  /** `getResponse().getResourceQuotaCurrentUsage()` and the like, by name; post-triggers only. */
  readonly responseValues?: Readonly<Record<string, string>>
}

export interface TriggerOutcome {
  /** JSON text: what a pre-trigger wants to be written. */
  readonly requestBody: string | undefined
  /** JSON text: what a post-trigger wants to be answered. */
  readonly responseBody: string | undefined
  readonly log: string
}

export class ScriptRunner {
  readonly #idle: ScriptLane[] = Array.from({ length: scriptThreadsMax }, () => new ScriptLane())
  readonly #lanes = [...this.#idle]
  readonly #waiting: ((lane: ScriptLane) => void)[] = []
  #isClosed = false

  /**
   * Rejects with a ScriptError when the script throws or is none, with a CapacityError when it takes too
   * long.
   */
  async runStoredProcedure(run: StoredProcedureRun): Promise<StoredProcedureOutcome> {
    const { response, log } = await this.#run(run, {
      args: run.args,
      request: { body: run.args, isBodyWritable: false, values: { OperationType: 'Execute', ...run.headers } },
      response: { body: '""', isBodyWritable: true, values: {} },
    })
    return { body: response ?? '""', log }
  }

  /** Rejects as a stored procedure does. */
  async runTrigger(run: TriggerRun): Promise<TriggerOutcome> {
    const { type, operation, requestBody, responseBody, responseValues = {} } = run
    const { request, response, log } = await this.#run(run, {
      args: '[]',
      request: {
        body: requestBody,
        isBodyWritable: type === 'pre',
        values: { OperationType: operation, ...run.headers },
      },
      response: type === 'pre' ? undefined : { body: responseBody, isBodyWritable: true, values: responseValues },
    })
    return { requestBody: type === 'pre' ? request : requestBody, responseBody: response, log }
  }

  /** Runs under way and runs that wait are given up. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#lanes.map(lane => lane[Symbol.asyncDispose]()))
  }

  async #run(run: ScriptRun, part: Pick<GuestSettings, 'args' | 'request' | 'response'>): Promise<RunDone> {
    const { id, body, links, host, epochMs, msMax = scriptMsMax } = run
    const settings: GuestSettings = { ...part, links, epochMs, responseCharsMax: scriptResponseCharsMax }
    const lane = await this.#lane()
    try {
      if (this.#isClosed) throw closed()
      return await lane.run({ body, fileName: `${id}.js`, settings: JSON.stringify(settings), msMax }, host)
    } catch (error) {
      throw this.#isClosed ? closed() : error
    } finally {
      this.#release(lane)
    }
  }

  #lane(): ScriptLane | Promise<ScriptLane> {
    // The one that was used last has its thread already.
    const lane = this.#idle.pop()
    if (lane !== undefined) return lane
    if (this.#waiting.length >= scriptRunsWaitingMax) {
      throw new CapacityError('throttled', 'Too many scripts are waiting to be run.', 1000)
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  #release(lane: ScriptLane): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(lane)
    else next(lane)
  }
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The server is stopping.', 0)
}
