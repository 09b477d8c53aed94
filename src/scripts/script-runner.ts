/**
 * Runs stored procedures and triggers; the entry point for the NoSQL edge.
 *
 * Runs share a few threads. host.ts describes how a run and its caller work together; docs/scripts.md
 * describes how scripts see the database.
 */

import { CapacityError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import type { Links } from './guest/collection.ts'
import type { GuestSettings } from './guest/script.ts'
import type { ScriptHost } from './host.ts'
import { type RunDone, ScriptThreadLink } from './script-thread-link.ts'

/** The service's limit for a stored procedure or trigger: five seconds. */
const scriptMsMax = 5000

/** Most characters of a script's response: as many as a page has. The service has the same limit. */
export const scriptResponseCharsMax = 4 * MiB

/**
 * Threads that run scripts, so that an endless script does not stop all others; and the most runs that may
 * wait for one.
 */
export const scriptThreadsMax = 2
const scriptRunsWaitingMax = 256

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
  readonly msMax?: number
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

export class ScriptRunner {
  readonly #idle: ScriptThreadLink[] = Array.from({ length: scriptThreadsMax }, () => new ScriptThreadLink())
  readonly #links = [...this.#idle]
  readonly #waiting: ((link: ScriptThreadLink) => void)[] = []
  #isClosed = false

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

  /** Running and waiting runs are cancelled. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    await Promise.all(this.#links.map(link => link[Symbol.asyncDispose]()))
  }

  async #run(run: ScriptRun, part: Pick<GuestSettings, 'args' | 'request' | 'response'>): Promise<RunDone> {
    const { id, body, links, host, epochMs, msMax = scriptMsMax } = run
    const settings: GuestSettings = { ...part, links, epochMs, responseCharsMax: scriptResponseCharsMax }
    const link = await this.#idleLink()
    try {
      if (this.#isClosed) throw closed()
      return await link.run({ body, fileName: `${id}.js`, settings: JSON.stringify(settings), msMax }, host)
    } catch (error) {
      throw this.#isClosed ? closed() : error
    } finally {
      this.#release(link)
    }
  }

  #idleLink(): ScriptThreadLink | Promise<ScriptThreadLink> {
    // The most recently used one already has its thread.
    const link = this.#idle.pop()
    if (link !== undefined) return link
    if (this.#waiting.length >= scriptRunsWaitingMax) {
      throw new CapacityError('throttled', 'Too many scripts are waiting to be run.', 1000)
    }
    return new Promise(resolve => this.#waiting.push(resolve))
  }

  #release(link: ScriptThreadLink): void {
    const next = this.#waiting.shift()
    if (next === undefined) this.#idle.push(link)
    else next(link)
  }
}

function closed(): CapacityError {
  return new CapacityError('unavailable', 'The server is stopping.', 0)
}
