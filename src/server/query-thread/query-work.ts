/**
 * A query thread: makes pages of queries and sorts entries of indexes, from snapshots of the database file
 * or from what the server reads for it.
 *
 * Tasks take turns, so that a short page does not wait for a long one. A task that would hold the thread for
 * too long, or whose client does not wait any more, ends in the middle of its work (`base/work.ts`).
 */

import { readdirSync, readFileSync } from 'node:fs'
import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { withReaderContract } from '../../adapters/contract.ts'
import { Snapshots } from '../../adapters/sqlite/snapshot.ts'
import { buffersOf, type SortedEntries, type SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import { holding, MemoryAccount } from '../../base/memory-account.ts'
import { HoldWatch, type WorkWatch, watched } from '../../base/work.ts'
import { indexKeysOf } from '../../engine/index-keys.ts'
import { collectRows } from '../../query/collect-rows.ts'
import { buffersOfRows, type CollectedRows, packRows } from '../../query/packed-rows.ts'
import { describeIndexes, type MadePage, makePage } from '../../query/page-task.ts'
import type { ContainerReader } from '../../store/reading.ts'
import { openFunctions } from './page-functions.ts'
import { collectorOf, holdPipeline, programOf } from './programs.ts'
import {
  type PackedPage,
  type Question,
  type ReaderAnswer,
  type ThreadData,
  toPlainError,
  type WorkerReply,
} from './query-messages.ts'
import { ServerReads } from './server-reader.ts'

/** The same as for pages that take turns (`query-threads.ts`). */
const collectorsNice = 5

const { directory, memory } = workerData as ThreadData
const account = memory && MemoryAccount.ofThread(memory)
const snapshots = directory === undefined ? undefined : new Snapshots(directory, indexKeysOf)
const port = parentPort!
const reads = new ServerReads(port)

if (process.platform === 'linux') lowerCollectors()

/**
 * All threads share a few threads that help V8 to collect garbage. Long work makes much garbage. Without
 * this, its collections would delay the thread that answers all clients by tens of milliseconds.
 */
function lowerCollectors(): void {
  try {
    for (const thread of readdirSync('/proc/self/task')) {
      const name = readFileSync(`/proc/self/task/${thread}/comm`, 'latin1')
      if (name === 'V8Worker\n') setPriority(Number(thread), collectorsNice)
    }
  } catch {
    // Without /proc, or when a thread has just ended, they stay as they are.
  }
}

/** Ends work whose client does not wait any more, or that holds the thread for too long. */
class QuestionWatch implements WorkWatch {
  readonly #end: Int32Array
  readonly #hold: HoldWatch | undefined

  constructor({ end, holdMsMax }: Question) {
    this.#end = end
    this.#hold = holdMsMax === undefined ? undefined : new HoldWatch(holdMsMax)
  }

  look(stepsAhead: number): void {
    if (Atomics.load(this.#end, 0) !== 0) throw new Error('nobody waits for the page any more')
    this.#hold?.look(stepsAhead)
  }
}

type PageQuestion = Extract<Question['ask'], { kind: 'page' | 'collect' }>

/** Does the work with a reader of its container, unless the indexes are not those of the plan. */
async function withReader<T>(
  number: number,
  { task, readsHere }: PageQuestion,
  work: (reader: ContainerReader) => Promise<T>,
): Promise<T | 'stale'> {
  if (readsHere || snapshots === undefined || task.plan.source.kind === 'given')
    return work(withReaderContract(reads.reader(number)))
  return snapshots.within(task.container, async snapshot => {
    if (describeIndexes(snapshot.indexes()) !== task.indexes) return 'stale'
    return work(withReaderContract(snapshot))
  })
}

function page(number: number, ask: PageQuestion, watch: WorkWatch): Promise<MadePage | 'stale'> {
  const { task } = ask
  return withReader(number, ask, async reader => {
    watch.look(0)
    using functions = await openFunctions(task.statement)
    return await makePage(reader, programOf(task.statement, task.at.moment, functions), task)
  })
}

function collect(number: number, ask: PageQuestion, watch: WorkWatch): Promise<CollectedRows | 'stale'> {
  return withReader(number, ask, reader => {
    watch.look(0)
    return collectRows(reader, collectorOf(ask.task.statement), ask.task)
  })
}

function answerPage(number: number, made: MadePage | 'stale'): void {
  if (made === 'stale') {
    port.postMessage({ number, result: made } satisfies WorkerReply)
    return
  }
  const rows = packRows(made.rows, made.origins)
  const { origins: _, ...page } = made
  const result: PackedPage = rows === undefined ? { page: made, rows } : { page: { ...page, rows: [] }, rows }
  port.postMessage({ number, result } satisfies WorkerReply, rows === undefined ? [] : buffersOfRows(rows))
}

function sort({ container, index, builtTo }: SortTask): Promise<SortedEntries | undefined> {
  return snapshots!.within(container, snapshot => snapshot.sortedEntries(index, builtTo))
}

/** Watches the work, and counts what it holds on the account that the threads share. */
async function counted<T>({ memoryBytesMax }: Question, watch: WorkWatch, work: () => Promise<T>): Promise<T> {
  using lease = account?.share(memoryBytesMax).hold('work')
  return await holding(lease, () => watched(watch, work))
}

async function answer(question: Question): Promise<void> {
  const { number, ask } = question
  const watch = new QuestionWatch(question)
  try {
    if (ask.kind === 'page') {
      answerPage(number, await counted(question, watch, () => page(number, ask, watch)))
    } else if (ask.kind === 'collect') {
      const result = await counted(question, watch, () => collect(number, ask, watch))
      const buffers = result === 'stale' ? [] : result.pieces.flatMap(buffersOfRows)
      port.postMessage({ number, result } satisfies WorkerReply, buffers)
    } else if (ask.kind === 'hold') {
      await counted(question, watch, () => holdPipeline(ask.task, reads.host(number)))
      port.postMessage({ number, result: undefined } satisfies WorkerReply)
    } else if (ask.kind === 'sort') {
      const result = await sort(ask.task)
      port.postMessage({ number, result } satisfies WorkerReply, result === undefined ? [] : buffersOf(result))
    }
  } catch (error) {
    port.postMessage({ number, error: toPlainError(error) } satisfies WorkerReply)
  }
}

port.on('message', (message: Question | ReaderAnswer) => {
  if ('call' in message) reads.hear(message)
  else void answer(message)
})
