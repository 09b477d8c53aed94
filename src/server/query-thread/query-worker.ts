/**
 * The query thread: makes pages of queries and sorts entries of indexes, from snapshots of the database file.
 * It also runs checkpoints when the WAL has grown long.
 *
 * Tasks take turns, so that a short page does not wait for a long one.
 */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { withReaderContract } from '../../adapters/contract.ts'
import { checkpointFile } from '../../adapters/sqlite/checkpoints.ts'
import { Snapshots } from '../../adapters/sqlite/snapshot.ts'
import { buffersOf, type SortedEntries, type SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import { holding, MemoryAccount } from '../../base/memory-account.ts'
import { indexKeysOf } from '../../engine/index-keys.ts'
import { collectRows } from '../../query/collect-rows.ts'
import { buffersOfRows, type CollectedRows, packRows } from '../../query/packed-rows.ts'
import { describeIndexes, type MadePage, makePage, type RemotePageTask } from '../../query/page-task.ts'
import { collectorOf, programOf } from './programs.ts'
import {
  type Cancellation,
  type PackedPage,
  type Question,
  type ThreadStart,
  toPlainError,
  type WorkerReply,
} from './query-messages.ts'

const { directory, memory } = workerData as ThreadStart
const account = memory && MemoryAccount.ofThread(memory)
const snapshots = new Snapshots(directory, indexKeysOf)
/** The tasks that are running, by the number of their question. */
const underWay = new Map<number, AbortController>()
const threadNice = 5
const port = parentPort!

// If there are too few cores, the main thread, which answers all clients, goes first. With 10 instead of 5
// this thread would starve. Linux sets the priority of the calling thread; others that of the process.
if (process.platform === 'linux') setPriority(threadNice)

function page(task: RemotePageTask, signal: AbortSignal): Promise<MadePage | 'stale'> {
  return snapshots.within(task.container, async snapshot => {
    if (describeIndexes(snapshot.indexes()) !== task.indexes) return 'stale'
    signal.throwIfAborted()
    const program = programOf(task.statement, task.at.moment)
    return makePage(withReaderContract(snapshot), program, task, { signal: () => signal })
  })
}

function collect(task: RemotePageTask, signal: AbortSignal): Promise<CollectedRows | 'stale'> {
  return snapshots.within(task.container, async snapshot => {
    if (describeIndexes(snapshot.indexes()) !== task.indexes) return 'stale'
    signal.throwIfAborted()
    return collectRows(withReaderContract(snapshot), collectorOf(task.statement), task, signal)
  })
}

function answerPage(number: number, made: MadePage | 'stale'): void {
  if (made === 'stale') {
    port.postMessage({ number, result: made } satisfies WorkerReply)
    return
  }
  const { origins, ...page } = made
  const rows = packRows(made.rows, origins)
  const result: PackedPage = { page: rows === undefined ? page : { ...page, rows: [] }, rows }
  port.postMessage({ number, result } satisfies WorkerReply, rows === undefined ? [] : buffersOfRows(rows))
}

function sort({ container, index, builtTo }: SortTask): Promise<SortedEntries | undefined> {
  return snapshots.within(container, snapshot => snapshot.sortedEntries(index, builtTo))
}

/** Counts what the work holds on the account that the threads share. */
async function counted<T>(bytesMax: number | undefined, work: () => Promise<T>): Promise<T> {
  using lease = account?.share(bytesMax).hold('work')
  return await holding(lease, work)
}

async function answer({ number, ask, memoryBytesMax }: Question): Promise<void> {
  const controller = new AbortController()
  underWay.set(number, controller)
  try {
    if (ask.kind === 'page') {
      answerPage(number, await counted(memoryBytesMax, () => page(ask.task, controller.signal)))
    } else if (ask.kind === 'collect') {
      const result = await counted(memoryBytesMax, () => collect(ask.task, controller.signal))
      const buffers = result === 'stale' ? [] : result.pieces.flatMap(buffersOfRows)
      port.postMessage({ number, result } satisfies WorkerReply, buffers)
    } else if (ask.kind === 'checkpoint') {
      checkpointFile(directory)
      port.postMessage({ number, result: undefined } satisfies WorkerReply)
    } else if (ask.kind === 'sort') {
      const result = await sort(ask.task)
      port.postMessage({ number, result } satisfies WorkerReply, result === undefined ? [] : buffersOf(result))
    }
  } catch (error) {
    port.postMessage({ number, error: toPlainError(error) } satisfies WorkerReply)
  } finally {
    underWay.delete(number)
  }
}

port.on('message', (message: Question | Cancellation) => {
  if ('cancel' in message) underWay.get(message.cancel)?.abort()
  else void answer(message)
})
