/**
 * Starts the query thread when it is first needed, sends it work, and replaces it if it dies. The thread ends
 * with the server. It keeps the process alive only while it has work.
 */

import { Worker } from 'node:worker_threads'
import type { RunCheckpoint } from '../../adapters/sqlite/checkpoints.ts'
import type { SortEntries, SortedEntries, SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import type { Logger } from '../../base/log.ts'
import { heldHere, type MemoryAccount, type ThreadMemory } from '../../base/memory-account.ts'
import { type CollectedRows, unpackRows } from '../../query/packed-rows.ts'
import type { MadePage, PageRunner, RemotePageTask } from '../../query/page-task.ts'
import {
  type Cancellation,
  fromPlainError,
  type PackedPage,
  type Question,
  type ThreadStart,
  type WorkerReply,
} from './query-messages.ts'

/** How long a thread is idle before it is looked at, and the size from which on it is not kept. */
const restMs = 5000
const restBytesMax = 48 * MiB

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: Error) => void
}

export class QueryThread implements PageRunner, AsyncDisposable {
  readonly #start: (memory: ThreadMemory | undefined) => Worker
  readonly #memory: MemoryAccount | undefined
  readonly #log: Logger
  readonly #waiting = new Map<number, Waiting>()
  #worker: Worker | undefined
  #asked = 0
  #isClosed = false

  #rest: NodeJS.Timeout | undefined

  constructor(
    directory: string,
    log: Logger,
    {
      start = memory => startWorker({ directory, memory }),
      memory,
    }: {
      readonly start?: (memory: ThreadMemory | undefined) => Worker
      /** Counts what the thread holds. */
      readonly memory?: MemoryAccount | undefined
    } = {},
  ) {
    this.#start = start
    this.#memory = memory
    this.#log = log
  }

  async run(task: RemotePageTask, signal?: AbortSignal): Promise<MadePage | 'stale'> {
    const made = (await this.#ask({ kind: 'page', task }, signal)) as PackedPage | 'stale'
    if (made === 'stale') return made
    if (made.rows === undefined) return made.page
    const { marks } = made.rows
    return { ...made.page, rows: unpackRows(made.rows), ...(marks && { origins: marks }) }
  }

  collect(task: RemotePageTask, signal?: AbortSignal): Promise<CollectedRows | 'stale'> {
    return this.#ask({ kind: 'collect', task }, signal) as Promise<CollectedRows | 'stale'>
  }

  readonly sortEntries: SortEntries = async (task: SortTask) => {
    try {
      return (await this.#ask({ kind: 'sort', task })) as SortedEntries | undefined
    } catch (error) {
      if (!this.#isClosed) this.#log.warn({ error }, 'sorting index entries failed; the build goes on without it')
      throw error
    }
  }

  readonly checkpoint: RunCheckpoint = async () => {
    await this.#ask({ kind: 'checkpoint' })
  }

  /**
   * Ends the thread and whatever it is doing. This closes its connections, so that the store, which closes
   * next, has the last connection to its file.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    machine.clearTimeout(this.#rest)
    const worker = this.#worker
    this.#lose(worker, 'The server is closing.')
    await worker?.terminate()
  }

  #ask(ask: Question['ask'], signal?: AbortSignal): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(unavailable('The server is closing.'))
    if (signal?.aborted) return Promise.reject(signal.reason)
    this.#worker ??= this.#begin()
    const worker = this.#worker
    const number = ++this.#asked
    const cancel = () => {
      this.#waiting.get(number)?.reject(signal!.reason)
      this.#forget(worker, number)
      worker.postMessage({ cancel: number } satisfies Cancellation)
    }
    const answer = new Promise((resolve, reject) => {
      worker.postMessage({ number, ask, memoryBytesMax: heldHere()?.share.freeBytes } satisfies Question)
      machine.clearTimeout(this.#rest)
      this.#waiting.set(number, { resolve, reject })
      worker.ref()
    })
    if (signal === undefined) return answer
    signal.addEventListener('abort', cancel)
    return answer.finally(() => signal.removeEventListener('abort', cancel))
  }

  #forget(worker: Worker, number: number): void {
    this.#waiting.delete(number)
    if (this.#waiting.size > 0) return
    worker.unref()
    machine.clearTimeout(this.#rest)
    this.#rest = machine.setTimeout(() => void this.#endIfLarge(worker), restMs).unref()
  }

  /** Ends an idle thread that has grown: only with its end the system gets its memory back. */
  async #endIfLarge(worker: Worker): Promise<void> {
    // Older Nodes cannot tell how large a thread is.
    const heap = await worker.getHeapStatistics?.().catch(() => undefined)
    const isSmall = heap !== undefined && heap.total_heap_size + heap.external_memory < restBytesMax
    if (isSmall || this.#worker !== worker || this.#waiting.size > 0) return
    this.#worker = undefined
    await worker.terminate()
  }

  #begin(): Worker {
    const memory = this.#memory?.openThread()
    const worker = this.#start(memory && threadMemory(memory))
    worker.on('exit', () => memory?.[Symbol.dispose]())
    worker.on('message', (answer: WorkerReply) => this.#hear(worker, answer))
    worker.on('error', error => this.#log.error({ error }, 'the query thread failed; the next query starts a new one'))
    worker.on('exit', () => this.#lose(worker, 'The thread that worked on the query ended. Ask again.'))
    return worker
  }

  #hear(worker: Worker, answer: WorkerReply): void {
    const waiting = this.#waiting.get(answer.number)
    this.#forget(worker, answer.number)
    if ('error' in answer) waiting?.reject(fromPlainError(answer.error))
    else waiting?.resolve(answer.result)
  }

  #lose(worker: Worker | undefined, reason: string): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of lost) reject(unavailable(reason))
  }
}

function unavailable(sentence: string): CapacityError {
  return new CapacityError('unavailable', sentence, 0)
}

/** What can be sent to the thread. */
function threadMemory({ bytesMax, cells, cell }: ThreadMemory): ThreadMemory {
  return { bytesMax, cells, cell }
}

/**
 * Starts the file beside this one, in the sources or in the build. The thread does not get the flags of the
 * process.
 */
export function startWorker(workerData: ThreadStart): Worker {
  const name = import.meta.url.endsWith('.ts') ? './query-worker.ts' : './query-worker.js'
  return new Worker(new URL(name, import.meta.url), { workerData, execArgv: [], name: 'queries' })
}
