/** The queries that run for the explorer, so that they can be ended by their id. */

import { RequestError } from '../../base/error.ts'

/** One person runs a few; the limit keeps ids from filling the memory. */
const runningMax = 200

/** Why a query was ended. */
export class QueryCanceled extends Error {}

export class RunningQueries {
  readonly #running = new Map<string, AbortController>()

  get size(): number {
    return this.#running.size
  }

  /** Ends the work when the query is canceled, or when `gone` aborts because the client has gone. */
  async run<T>(owner: string, id: string, gone: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const name = `${owner} ${id}`
    if (this.#running.has(name)) throw new RequestError('already_exists', `A query with the id '${id}' is running.`)
    if (this.#running.size >= runningMax) {
      throw new RequestError('malformed', `${runningMax} queries are running. Wait for one, or cancel one.`)
    }
    const controller = new AbortController()
    const onGone = () => controller.abort(new QueryCanceled('nobody waits for the query any more'))
    if (gone.aborted) onGone()
    gone.addEventListener('abort', onGone, { once: true })
    this.#running.set(name, controller)
    try {
      return await work(controller.signal)
    } catch (error) {
      // The reason of the abort is thrown, not the error that the abort caused in the work.
      throw controller.signal.aborted ? controller.signal.reason : error
    } finally {
      gone.removeEventListener('abort', onGone)
      this.#running.delete(name)
    }
  }

  cancel(owner: string, id: string): boolean {
    const found = this.#running.get(`${owner} ${id}`)
    found?.abort(new QueryCanceled('the query was canceled'))
    return found !== undefined
  }

  cancelAll(): void {
    for (const controller of this.#running.values()) controller.abort(new QueryCanceled('the server stops'))
  }
}
