/**
 * Starts the threads that make pages of queries, and gives each its work:
 *
 *   the first    all pages that do not stay in the main thread; they take turns, and none holds it for long
 *   two others   work that would hold it for long (`long-work.ts`)
 *   up to four   pipelines for cursors, which read through the server (`held-pipelines.ts`)
 *   one more     checkpoints, while much is written (`checkpoint-worker.ts`)
 *
 * Threads for pages and long work read snapshots of the database if it is in a file. Otherwise they read
 * through the server.
 */

import type { ResourceLimits, Worker } from 'node:worker_threads'
import type { RunCheckpoint } from '../../adapters/sqlite/file/checkpoints.ts'
import type { SortEntries, SortedEntries, SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import type { Logger } from '../../base/log.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { startOwnThread } from '../../base/own-thread.ts'
import { WorkTooLong } from '../../base/work.ts'
import type { HostedTask, StreamHost } from '../../query/hosted-stream.ts'
import { type CollectedRows, unpackRows } from '../../query/packed-rows.ts'
import type { MadePage, PageRunner, RemotePageTask, RemoteWork } from '../../query/page-task.ts'
import { HeldPipelines } from './held-pipelines.ts'
import { LongWork } from './long-work.ts'
import { callsFunctions } from './page-functions.ts'
import type { Ask, PackedPage, ThreadData } from './query-messages.ts'
import { ThreadLost, type WorkConditions, WorkThread } from './work-thread.ts'

/** The longest time that a page may work on a single item while other pages wait. */
const holdMsMax = 50

/**
 * If there are too few cores, the thread that answers all clients goes first, then pages that take turns.
 * With 10 instead of 5 these pages would starve.
 */
const pagesNice = 5
const longWorkNice = 10
/** A checkpoint takes a few milliseconds. It can wait for the main thread, but not for long. */
const checkpointsNice = 5

/** The thread for checkpoints takes some megabytes. It ends when it had no work for this time. */
const restAfterMs = 30_000

export class QueryThreads implements PageRunner, AsyncDisposable {
  /** Whether the server reads for the threads, because there is no file that they can read. */
  readonly readsHere: boolean
  readonly #log: Logger
  readonly #pages: WorkThread
  readonly #longWork: LongWork
  readonly #held: HeldPipelines
  readonly #checkpoints: WorkThread
  #checkpointsRest: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(
    directory: string | undefined,
    log: Logger,
    {
      start = startWorker,
      memory,
    }: {
      readonly start?: (data: ThreadData) => Worker
      /** Counts what the threads hold. */
      readonly memory?: MemoryAccount | undefined
    } = {},
  ) {
    this.readsHere = directory === undefined
    this.#log = log
    const thread = (nice: number) => () => new WorkThread(part => start({ directory, nice, memory: part }), log, memory)
    this.#pages = thread(pagesNice)()
    this.#longWork = new LongWork(thread(longWorkNice))
    this.#held = new HeldPipelines(thread(longWorkNice))
    const own = { directory, nice: checkpointsNice, memory: undefined }
    this.#checkpoints = new WorkThread(() => startCheckpointWorker(own), log)
  }

  async run(task: RemotePageTask, work: RemoteWork = {}): Promise<MadePage | 'stale'> {
    const readsHere = this.readsHere || work.mustRead === true
    const made = (await this.#do({ kind: 'page', task, readsHere }, work)) as PackedPage | 'stale'
    if (made === 'stale') return made
    if (made.rows === undefined) return made.page
    const { bytes, marks } = made.rows
    return { ...made.page, rows: unpackRows(made.rows), piece: bytes, ...(marks && { origins: marks }) }
  }

  collect(task: RemotePageTask, work: RemoteWork = {}): Promise<CollectedRows | 'stale'> {
    return this.#do({ kind: 'collect', task, readsHere: this.readsHere }, work) as Promise<CollectedRows | 'stale'>
  }

  async hold(task: HostedTask, host: StreamHost, signal: AbortSignal): Promise<void> {
    try {
      await this.#held.hold(task, host, signal)
    } catch (error) {
      throw error instanceof ThreadLost ? lost() : error
    }
  }

  readonly sortEntries: SortEntries = async (task: SortTask) => {
    try {
      return (await this.#inPages({ kind: 'sort', task })) as SortedEntries | undefined
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ error }, 'sorting index entries failed; the build goes on without it')
      throw error
    }
  }

  readonly checkpoint: RunCheckpoint = async () => {
    machine.clearTimeout(this.#checkpointsRest)
    await this.#checkpoints.ask({ kind: 'checkpoint' })
    this.#checkpointsRest = machine.setTimeout(() => this.#checkpoints.rest(), restAfterMs).unref()
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    machine.clearTimeout(this.#checkpointsRest)
    await Promise.all([
      this.#checkpoints[Symbol.asyncDispose](),
      this.#pages[Symbol.asyncDispose](),
      this.#longWork[Symbol.asyncDispose](),
      this.#held[Symbol.asyncDispose](),
    ])
  }

  async #do(ask: Ask, { reader, signal }: RemoteWork): Promise<unknown> {
    if (!('task' in ask && 'at' in ask.task && callsFunctions(ask.task.statement))) {
      try {
        return await this.#inPages(ask, { reader, signal, holdMsMax })
      } catch (error) {
        if (!(error instanceof WorkTooLong)) throw error
      }
    }
    try {
      return await this.#longWork.do(ask, { reader, signal })
    } catch (error) {
      throw error instanceof ThreadLost ? lost() : error
    }
  }

  /** When a thread dies or is ended, its pages are lost. They are made again in the next one. */
  async #inPages(ask: Ask, conditions: WorkConditions = {}): Promise<unknown> {
    for (let losses = 0; ; ) {
      try {
        return await this.#pages.ask(ask, conditions)
      } catch (error) {
        if (!(error instanceof ThreadLost)) throw error
        if (!error.isForOthers && ++losses > lossesMax) throw lost()
      }
    }
  }
}

/** How often pages are made again after their thread died: one of them may be the cause. */
const lossesMax = 2

function lost(): CapacityError {
  return new CapacityError('unavailable', 'The thread that worked on the query ended. Ask again.', 0)
}

/**
 * V8 lets garbage grow to four times the memory in use if a heap may become very large, and to less than
 * twice with such a limit. Without a limit the young generation would take more than 100 MB in each thread.
 */
function limitsOf({ memory }: ThreadData): ResourceLimits {
  const heapBytesMax = Math.max(heapBytesMin, heapFactor * (memory?.bytesMax ?? 0))
  return { maxOldGenerationSizeMb: Math.ceil(heapBytesMax / MiB), maxYoungGenerationSizeMb: youngMb }
}

const youngMb = 24
const heapBytesMin = 1024 * MiB
/** Times what all requests together may hold: one thread does not need more than that. */
const heapFactor = 4

/** The thread does not get the flags of the process. */
export function startWorker(workerData: ThreadData): Worker {
  const resourceLimits = limitsOf(workerData)
  return startOwnThread('query-worker', import.meta.url, { workerData, execArgv: [], name: 'queries', resourceLimits })
}

/** Its heap may be small, because it runs one statement. */
function startCheckpointWorker(workerData: ThreadData): Worker {
  const resourceLimits = { maxOldGenerationSizeMb: 64, maxYoungGenerationSizeMb: 2 }
  return startOwnThread('checkpoint-worker', import.meta.url, {
    ...{ workerData, execArgv: [], name: 'checkpoints', resourceLimits },
  })
}
