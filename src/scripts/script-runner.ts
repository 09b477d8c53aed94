/**
 * Runs stored procedures and triggers; the entry point for the NoSQL edge.
 *
 * Runs share a few threads. host.ts describes how a run and its caller work together; docs/scripts.md
 * describes how scripts see the database.
 */

import { MiB } from '../base/limits.ts'
import type { Links } from './guest/collection.ts'
import type { GuestSettings } from './guest/script.ts'
import type { ScriptHost } from './host.ts'
import type { RunDone } from './script-thread-link.ts'
import { type ScriptTurn, ScriptTurns, type TurnCaller } from './script-turns.ts'

/** The service's limit for a stored procedure, or for a write with its triggers: five seconds. */
const scriptMsMax = 5000

/** Most characters of a script's response: as many as a page has. The service has the same limit. */
export const scriptResponseCharsMax = 4 * MiB

export type ScriptCaller = Omit<TurnCaller, 'msMax'> & { readonly msMax?: number }

export interface ScriptRun {
  /** The script's name, for its stack traces. */
  readonly id: string
  readonly body: string
  readonly links: Links
  readonly host: ScriptHost
  /** The script's clock at the start. */
  readonly epochMs: number
  /** Headers of the request by lower-case name, for `getRequest().getValue(name)`. */
  readonly headers?: Readonly<Record<string, string>>
}

export interface StoredProcedureRun extends ScriptRun {
  /** JSON text of an array. */
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
  /** More response values by name, such as `getResourceQuotaCurrentUsage`; post-triggers only. */
  readonly responseValues?: Readonly<Record<string, string>>
}

export interface TriggerOutcome {
  /** JSON text of the item to write, as a pre-trigger left it. */
  readonly requestBody: string | undefined
  /** JSON text of the response, as a post-trigger left it. */
  readonly responseBody: string | undefined
  readonly log: string
}

export class ScriptRunner implements AsyncDisposable {
  readonly #turns = new ScriptTurns()

  /**
   * Does work that runs scripts, when it is its turn. The work must change nothing before
   * `ScriptRuns.finish`: it may be stopped and done again from the start.
   */
  inTurn<T>(caller: ScriptCaller, work: (runs: ScriptRuns) => Promise<T>): Promise<T> {
    return this.#turns.take({ msMax: scriptMsMax, ...caller }, turn => work(new ScriptRuns(turn)))
  }

  /** Running and waiting runs are cancelled. */
  [Symbol.asyncDispose](): Promise<void> {
    return this.#turns[Symbol.asyncDispose]()
  }
}

/** Runs the scripts of one turn, one after the other. They share its time. */
export class ScriptRuns {
  readonly #turn: ScriptTurn

  constructor(turn: ScriptTurn) {
    this.#turn = turn
  }

  /** Aborted when the scripts must end. */
  get signal(): AbortSignal {
    return this.#turn.signal
  }

  /** Rejects with a ScriptError if the script throws, with a CapacityError if it takes too long. */
  async runStoredProcedure(run: StoredProcedureRun): Promise<StoredProcedureOutcome> {
    const { response, log } = await this.#run(run, {
      args: run.args,
      request: { body: run.args, isBodyWritable: false, values: { OperationType: 'Execute', ...run.headers } },
      response: { body: '""', isBodyWritable: true, values: {} },
    })
    return { body: response ?? '""', log }
  }

  /** Rejects like `runStoredProcedure`. */
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

  /** Ends the scripts: they will not be done again. Throws if their work must not be committed. */
  finish(): void {
    this.check()
    this.#turn.end()
  }

  /** Throws if their time is over, or if the client does not wait any more. */
  check(): void {
    this.#turn.check()
  }

  #run(run: ScriptRun, part: Pick<GuestSettings, 'args' | 'request' | 'response'>): Promise<RunDone> {
    const { id, body, links, host, epochMs } = run
    const settings: GuestSettings = { ...part, links, epochMs, responseCharsMax: scriptResponseCharsMax }
    return this.#turn.run({ body, fileName: `${id}.js`, settings: JSON.stringify(settings) }, host)
  }
}
