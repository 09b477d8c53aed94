/**
 * One query thread, as the server sees it: it starts when it is first needed, and again if it has died. It
 * keeps the process alive only while it has work.
 *
 * When nobody wants a piece of work any more, the server sets a flag in shared memory. The work looks at the
 * flag every few microseconds. A thread that does not react is ended: one call of the runtime may take
 * seconds, and cannot be interrupted.
 */

import type { Worker } from 'node:worker_threads'
import { machine } from '../../base/clock.ts'
import { CapacityError } from '../../base/error.ts'
import { MiB } from '../../base/limits.ts'
import type { Logger } from '../../base/log.ts'
import { heldHere, type MemoryAccount, type ThreadMemory } from '../../base/memory-account.ts'
import type { StreamHost } from '../../query/hosted-stream.ts'
import type { ContainerReader } from '../../store/reading.ts'
import {
  type Ask,
  fromPlainError,
  type Question,
  type ReaderAnswer,
  type ReaderCall,
  type ThreadBegun,
  type WorkerReply,
} from './query-messages.ts'
import { ranMs } from './task-time.ts'

/** How long work may go on after it was told to end, in time on a core. Then its thread is ended. */
const reactionMsMax = 1000

/** The same in real time: on a busy machine the thread may have to wait for a core. */
const starvedMsMax = 20_000

/** When a thread was idle for this time, it is ended if it is larger than `restBytesMax`. */
const restMs = 5000
const restBytesMax = 48 * MiB

/** The thread has died, and with it the work. */
export class ThreadLost extends Error {
  override readonly name = 'ThreadLost'
  /** Other work is the reason: it did not end in time. Otherwise this work may be the reason itself. */
  readonly isForOthers: boolean

  constructor(message: string, isForOthers: boolean) {
    super(message)
    this.isForOthers = isForOthers
  }
}

export interface WorkConditions {
  /** Ends the work, with its reason. */
  readonly signal?: AbortSignal | undefined
  /** For work that reads through the server. */
  readonly reader?: ContainerReader | StreamHost | undefined
  readonly holdMsMax?: number | undefined
}

interface Waiting {
  readonly resolve: (result: unknown) => void
  readonly reject: (error: unknown) => void
  readonly reader: ContainerReader | StreamHost | undefined
  readonly end: Int32Array
  /** Reads for the thread that the server has not finished. */
  readonly calls: Set<number>
}

type Readers = Readonly<Record<string, (...args: unknown[]) => unknown>>

export class WorkThread implements AsyncDisposable {
  readonly #start: (memory: ThreadMemory | undefined) => Worker
  readonly #log: Logger
  readonly #memory: MemoryAccount | undefined
  readonly #waiting = new Map<number, Waiting>()
  /** Work that was told to end and has not answered. */
  readonly #ending = new Map<number, NodeJS.Timeout>()
  #worker: Worker | undefined
  /** Its number in the system, as soon as it is known. */
  #task: number | undefined
  #asked = 0
  #isClosed = false
  #rest: NodeJS.Timeout | undefined

  constructor(start: (memory: ThreadMemory | undefined) => Worker, log: Logger, memory?: MemoryAccount) {
    this.#start = start
    this.#log = log
    this.#memory = memory
  }

  /** Whether the thread has no work: nobody waits for it, and nothing is left that was told to end. */
  get isIdle(): boolean {
    return this.#waiting.size === 0 && this.#ending.size === 0
  }

  ask(ask: Ask, { signal, reader, holdMsMax }: WorkConditions = {}): Promise<unknown> {
    if (this.#isClosed) return Promise.reject(closing())
    if (signal?.aborted) return Promise.reject(signal.reason)
    this.#worker ??= this.#begin()
    const worker = this.#worker
    const number = ++this.#asked
    const end = new Int32Array(new SharedArrayBuffer(4))
    const answer = new Promise((resolve, reject) => {
      const memoryBytesMax = heldHere()?.share.freeBytes
      worker.postMessage({ number, ask, end, holdMsMax, memoryBytesMax } satisfies Question)
      machine.clearTimeout(this.#rest)
      this.#waiting.set(number, { resolve, reject, reader, end, calls: new Set() })
      worker.ref()
    })
    if (signal === undefined) return answer
    const cancel = () => this.#end(worker, number, signal.reason)
    signal.addEventListener('abort', cancel)
    return answer.finally(() => signal.removeEventListener('abort', cancel))
  }

  /**
   * Ends the thread and whatever it is doing. This closes its connections, so that the store, which closes
   * next, has the last connection to its file.
   */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true
    machine.clearTimeout(this.#rest)
    const worker = this.#worker
    this.#lose(worker, closing())
    await worker?.terminate()
  }

  /** Ends an idle thread. The next question starts another. */
  rest(): void {
    if (!this.isIdle) return
    const worker = this.#worker
    this.#worker = undefined
    void worker?.terminate()
  }

  #begin(): Worker {
    const memory = this.#memory?.openThread()
    const worker = this.#start(memory && threadMemory(memory))
    worker.on('exit', () => memory?.[Symbol.dispose]())
    this.#task = undefined
    worker.on('message', (message: ThreadBegun | WorkerReply | ReaderCall) => {
      if ('task' in message) this.#task = message.task
      else if ('call' in message) void this.#read(worker, message)
      else this.#hear(worker, message)
    })
    worker.on('error', error => this.#log.error({ error }, 'a query thread failed; the next query starts a new one'))
    worker.on('exit', () => this.#lose(worker, new ThreadLost('The thread that worked on the query ended.', false)))
    return worker
  }

  #end(worker: Worker, number: number, reason: unknown): void {
    const waiting = this.#waiting.get(number)
    if (waiting === undefined) return
    waiting.reject(reason)
    this.#waiting.delete(number)
    Atomics.store(waiting.end, 0, 1)
    for (const call of waiting.calls) worker.postMessage({ call, over: true } satisfies ReaderAnswer)
    this.#watch(worker, number)
  }

  /** Ends the thread if it goes on with what it was told to end. */
  #watch(worker: Worker, number: number): void {
    const startMs = machine.monotonicMs()
    const ranBeforeMs = ranMs(this.#task) ?? 0
    const lookIn = (ms: number, isLast: boolean) => {
      this.#ending.set(number, machine.setTimeout(() => look(isLast), ms).unref())
    }
    const look = (isLast: boolean) => {
      const waitedMs = Math.round(machine.monotonicMs() - startMs)
      const ranNowMs = ranMs(this.#task)
      const hasRunMs = ranNowMs === undefined ? waitedMs : ranNowMs - ranBeforeMs
      if (hasRunMs < reactionMsMax && waitedMs < starvedMsMax) return lookIn(reactionMsMax, false)
      // The server itself may have been busy. So it waits once more for the answer.
      if (!isLast) return lookIn(50, true)
      this.#log.warn({ waitedMs }, 'a query thread did not end its work in time, and is ended itself')
      this.#lose(worker, new ThreadLost('The thread that worked on the query was ended.', true))
      void worker.terminate()
    }
    lookIn(reactionMsMax, false)
  }

  #forget(worker: Worker, number: number): void {
    machine.clearTimeout(this.#ending.get(number))
    this.#ending.delete(number)
    this.#waiting.delete(number)
    if (!this.isIdle) return
    worker.unref()
    machine.clearTimeout(this.#rest)
    this.#rest = machine.setTimeout(() => void this.#endIfLarge(worker), restMs).unref()
  }

  /** Ends an idle thread that has grown: only with its end the system gets its memory back. */
  async #endIfLarge(worker: Worker): Promise<void> {
    // Older Nodes cannot tell how large a thread is.
    const heap = await worker.getHeapStatistics?.().catch(() => undefined)
    const isSmall = heap !== undefined && heap.total_heap_size + heap.external_memory < restBytesMax
    if (isSmall || this.#worker !== worker || !this.isIdle) return
    this.rest()
  }

  #hear(worker: Worker, answer: WorkerReply): void {
    const waiting = this.#waiting.get(answer.number)
    this.#forget(worker, answer.number)
    if ('error' in answer) waiting?.reject(fromPlainError(answer.error))
    else waiting?.resolve(answer.result)
  }

  async #read(worker: Worker, { reader: number, call, name, args }: ReaderCall): Promise<void> {
    const waiting = this.#waiting.get(number)
    waiting?.calls.add(call)
    let answer: unknown
    try {
      const read = (waiting?.reader as unknown as Readers | undefined)?.[name]
      answer = ownBytes(await read?.apply(waiting?.reader, [...args]))
    } catch (error) {
      this.#end(worker, number, error)
    }
    const isOver = waiting === undefined || this.#waiting.get(number) !== waiting
    if (isOver) {
      // Calls that had begun before were answered when the question ended.
      if (waiting === undefined) worker.postMessage({ call, over: true } satisfies ReaderAnswer)
      return
    }
    waiting.calls.delete(call)
    worker.postMessage({ call, answer } satisfies ReaderAnswer)
  }

  #lose(worker: Worker | undefined, reason: Error): void {
    if (this.#worker !== worker) return
    this.#worker = undefined
    for (const timer of this.#ending.values()) machine.clearTimeout(timer)
    this.#ending.clear()
    const lost = [...this.#waiting.values()]
    this.#waiting.clear()
    for (const { reject } of lost) reject(reason)
  }
}

/** The fields that can be sent to the thread. */
function threadMemory({ bytesMax, cells, cell }: ThreadMemory): ThreadMemory {
  return { bytesMax, cells, cell }
}

/** A message carries the whole buffer of a view. So parts of larger buffers are copied. */
function ownBytes(answer: unknown): unknown {
  if (typeof answer !== 'object' || answer === null) return answer
  const { item, items } = answer as { readonly item?: object; readonly items?: readonly object[] }
  if (items !== undefined) return { ...(answer as object), items: items.map(withOwnBytes) }
  return item === undefined ? answer : { ...(answer as object), item: withOwnBytes(item) }
}

function withOwnBytes(item: object): object {
  return Object.fromEntries(
    Object.entries(item).map(([name, value]) => {
      const isPart = value instanceof Uint8Array && value.byteLength !== value.buffer.byteLength
      return [name, isPart ? new Uint8Array(value) : value]
    }),
  )
}

function closing(): CapacityError {
  return new CapacityError('unavailable', 'The server is closing.', 0)
}
