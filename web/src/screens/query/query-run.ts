/** One run of a query: its pages, what they cost, and how it ended. */

import { signal } from '@preact/signals'
import { cancelQuery, planQuery, runQuery } from '../../api/calls.ts'
import { ApiError, isAborted } from '../../api/client.ts'
import type { ContainerName, QueryPlan, QueryResult } from '../../api/shapes.ts'
import { bodyOf, type QueryText } from '../../containers/query-text.ts'
import { type ExportFormat, saveRows } from '../../containers/save-rows.ts'

export interface Outcome {
  pages: QueryResult[]
  /** A query that was ended, or refused. */
  error?: unknown
  isCanceled?: boolean
}

let lastId = 0

export class QueryRunner {
  readonly outcome = signal<Outcome | undefined>(undefined)
  readonly isRunning = signal(false)
  readonly plan = signal<{ plan?: QueryPlan; error?: unknown } | undefined>(undefined)
  readonly #name: ContainerName
  #running: { id: string; abort: AbortController } | undefined
  #query: QueryText | undefined

  constructor(name: ContainerName) {
    this.#name = name
  }

  /** True if it came to an end with rows. */
  async run(query: QueryText): Promise<boolean> {
    await this.cancel()
    this.#query = query
    this.plan.value = undefined
    return this.#loadPage([])
  }

  async more(): Promise<void> {
    const before = this.outcome.peek()
    if (!before || this.isRunning.peek()) return
    await this.#loadPage(before.pages)
  }

  async #loadPage(before: QueryResult[]): Promise<boolean> {
    const id = `page-${Math.random().toString(36).slice(2, 8)}-${++lastId}`
    const abort = new AbortController()
    this.#running = { id, abort }
    this.isRunning.value = true
    const after = before.at(-1)?.next
    try {
      const result = await runQuery(this.#name, bodyOf(this.#query!, id, after), abort.signal)
      this.outcome.value = { pages: [...before, result] }
      return true
    } catch (error) {
      const isCanceled = isAborted(error) || (error instanceof ApiError && error.code === 'canceled')
      this.outcome.value = isCanceled ? { pages: before, isCanceled } : { pages: before, error }
      return false
    } finally {
      if (this.#running?.id === id) {
        this.#running = undefined
        this.isRunning.value = false
      }
    }
  }

  /** Ends the query on the server, which answers it then. */
  async cancel(): Promise<void> {
    const running = this.#running
    if (!running) return
    await cancelQuery(running.id).catch(() => running.abort.abort())
  }

  async askPlan(query: QueryText): Promise<void> {
    try {
      this.plan.value = { plan: await planQuery(this.#name, bodyOf(query, 'plan')) }
    } catch (error) {
      this.plan.value = { error }
    }
  }

  /** All rows as a file; false if the query was refused, which is shown as of a run. */
  async save(query: QueryText, format: ExportFormat): Promise<boolean> {
    try {
      await saveRows(this.#name, format, query)
      return true
    } catch (error) {
      this.outcome.value = { pages: this.outcome.peek()?.pages ?? [], error }
      return false
    }
  }

  dispose(): void {
    this.#running?.abort.abort()
  }
}
