/**
 * Jobs: long work with progress. They belong to the server, not to a page: a user who closes the page and
 * comes back finds them.
 */

import { randomUUID } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'

const jobsMax = 50
const runningMax = 8
const shownRefusalsMax = 100
/** Of all jobs together. */
export const refusalBytesMax = 16 * MiB

export type JobKind = 'import' | 'delete'

export interface RefusedLine {
  readonly line: number
  readonly message: string
  readonly text?: string | undefined
}

export interface JobProgress {
  done: number
  total: number | null
  isTotalAbout: boolean
  bytesDone: number
  bytesTotal: number | null
  written: number
  skipped: number
  dead: number
  chargeRu: number
}

export class Job {
  readonly id: string
  readonly kind: JobKind
  readonly database: string
  readonly container: string
  readonly startedMs = machine.epochMs()
  readonly progress: JobProgress = {
    ...{ done: 0, total: null, isTotalAbout: false, bytesDone: 0, bytesTotal: null },
    ...{ written: 0, skipped: 0, dead: 0, chargeRu: 0 },
  }
  readonly #controller = new AbortController()
  readonly #onChange: (job: Job) => void
  /** Whether there is room for a refusal of so many bytes. */
  readonly #hasRoom: (bytes: number) => boolean
  readonly #startedAt = machine.monotonicMs()
  #refusals: RefusedLine[] = []
  refusalBytes = 0
  #doneBefore = 0
  #refused = 0
  #state: 'running' | 'done' | 'failed' | 'canceled' = 'running'
  #endedMs: number | null = null
  #endedAt: number | undefined
  #message: string | null = null

  constructor(
    { id, kind, database, container }: Pick<Job, 'id' | 'kind' | 'database' | 'container'>,
    { onChange, hasRoom }: { onChange: (job: Job) => void; hasRoom: (bytes: number) => boolean },
  ) {
    this.id = id
    this.kind = kind
    this.database = database
    this.container = container
    this.#onChange = onChange
    this.#hasRoom = hasRoom
  }

  get signal(): AbortSignal {
    return this.#controller.signal
  }

  get isRunning(): boolean {
    return this.#state === 'running'
  }

  get refusals(): readonly RefusedLine[] {
    return this.#refusals
  }

  moved(): void {
    this.#onChange(this)
  }

  refuse(refusal: RefusedLine): void {
    this.#refused++
    const bytes = 64 + refusal.message.length + (refusal.text?.length ?? 0)
    if (!this.#hasRoom(bytes)) return
    this.refusalBytes += bytes
    this.#refusals.push(refusal)
  }

  forgetRefusals(): void {
    this.#refusals = []
    this.refusalBytes = 0
  }

  /** Sets how many rows an earlier job has done. */
  beginAt(done: number): void {
    this.progress.done = done
    this.#doneBefore = done
  }

  cancel(): void {
    this.#controller.abort()
  }

  end(error?: unknown): void {
    if (!this.isRunning) return
    this.#state = this.signal.aborted ? 'canceled' : error === undefined ? 'done' : 'failed'
    if (error !== undefined && !this.signal.aborted)
      this.#message = error instanceof Error ? error.message : String(error)
    this.#endedMs = machine.epochMs()
    this.#endedAt = machine.monotonicMs()
    this.#onChange(this)
  }

  show(withRefusals = true): object {
    const seconds = Math.max(0.001, ((this.#endedAt ?? machine.monotonicMs()) - this.#startedAt) / 1000)
    const { id, kind, database, container, startedMs, progress } = this
    return {
      ...{ id, kind, database, container, state: this.#state },
      ...progress,
      chargeRu: Math.round(progress.chargeRu * 100) / 100,
      rate: Math.round((progress.done - this.#doneBefore) / seconds),
      refused: this.#refused,
      ...{ startedMs, endedMs: this.#endedMs, message: this.#message },
      ...(withRefusals && {
        refusals: this.#refusals.slice(0, shownRefusalsMax).map(({ line, message }) => ({ line, message })),
      }),
    }
  }
}

const idForm = /^[A-Za-z0-9_-]{1,64}$/

export class Jobs {
  /** Oldest first. */
  readonly #jobs = new Map<string, Job>()
  onChange: (job: Job) => void = () => {}

  begin(kind: JobKind, database: string, container: string, wantedId: string | undefined): Job {
    const id = wantedId ?? randomUUID()
    if (!idForm.test(id)) throw new RequestError('malformed', 'The id of a job has 1 to 64 of A-Z, a-z, 0-9, _ and -.')
    if (this.#jobs.has(id)) throw new RequestError('already_exists', `There is a job with the id '${id}'.`)
    const running = [...this.#jobs.values()].filter(({ isRunning }) => isRunning).length
    if (running >= runningMax) {
      throw new RequestError('malformed', `${runningMax} jobs are running. Wait for one, or end one.`)
    }
    const parts = { onChange: (each: Job) => this.onChange(each), hasRoom: (bytes: number) => this.#hasRoom(bytes) }
    const job = new Job({ id, kind, database, container }, parts)
    this.#jobs.set(id, job)
    for (const old of this.#jobs.values()) {
      if (this.#jobs.size <= jobsMax) break
      if (!old.isRunning) this.#jobs.delete(old.id)
    }
    return job
  }

  /** The oldest jobs that have ended make room. */
  #hasRoom(bytes: number): boolean {
    const jobs = [...this.#jobs.values()]
    let held = jobs.reduce((sum, { refusalBytes }) => sum + refusalBytes, 0)
    for (const old of jobs) {
      if (held + bytes <= refusalBytesMax) return true
      if (old.isRunning) continue
      held -= old.refusalBytes
      old.forgetRefusals()
    }
    return held + bytes <= refusalBytesMax
  }

  find(id: string): Job {
    const job = this.#jobs.get(id)
    if (job === undefined) throw new RequestError('not_found', `There is no job with the id '${id.slice(0, 64)}'.`)
    return job
  }

  all(): readonly Job[] {
    return [...this.#jobs.values()]
  }

  /** Ends all, when the server stops. */
  cancelAll(): void {
    for (const job of this.#jobs.values()) job.cancel()
  }
}
