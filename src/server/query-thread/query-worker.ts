/**
 * The query thread: makes pages of queries and sorts entries of indexes, from snapshots of the store's file,
 * and carries its log over when that has grown long meanwhile.
 *
 * Whatever is asked for at the same time is done by turns, so that a short page does not wait for a long one.
 */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { withReaderContract } from '../../adapters/contract.ts'
import { carryOver } from '../../adapters/sqlite/checkpoints.ts'
import { Snapshots } from '../../adapters/sqlite/snapshot.ts'
import { buffersOf, type SortedEntries, type SortTask } from '../../adapters/sqlite/sorted-entries.ts'
import type { EpochSeconds } from '../../base/clock.ts'
import { indexKeysOf } from '../../engine/index-keys.ts'
import {
  describeIndexes,
  type MadePage,
  makePage,
  type QueryStatement,
  type RemotePageTask,
} from '../../query/page-task.ts'
import type { Program } from '../../query/program.ts'
import { PreparedQueries } from '../../sql/prepare.ts'
import { createProgram } from '../../sql/program.ts'
import type { SqlValue } from '../../sql/values/value.ts'
import { type Question, toPlainError, type WorkerReply } from './query-messages.ts'

const { directory } = workerData as { directory: string }
const snapshots = new Snapshots(directory, indexKeysOf)
const queries = new PreparedQueries()
const threadNice = 5
const port = parentPort!

// Where there is not a core for each, the thread that answers everybody goes first; ten instead of five would
// let this one starve. Linux takes it for the calling thread alone; elsewhere it would be about the whole
// process.
if (process.platform === 'linux') setPriority(threadNice)

function programOf({ text, parameters }: QueryStatement, moment: EpochSeconds): Program {
  const values = parameters as ReadonlyMap<string, SqlValue>
  return createProgram(queries.prepare(text), { parameters: values, momentMs: moment * 1000 })
}

function page(task: RemotePageTask): Promise<MadePage | 'stale'> {
  return snapshots.within(task.container, async snapshot => {
    if (describeIndexes(snapshot.indexes()) !== task.indexes) return 'stale'
    return makePage(withReaderContract(snapshot), programOf(task.statement, task.at.moment), task)
  })
}

function sort({ container, index, builtTo }: SortTask): Promise<SortedEntries | undefined> {
  return snapshots.within(container, snapshot => snapshot.sortedEntries(index, builtTo))
}

async function answer({ number, ask }: Question): Promise<void> {
  try {
    if (ask.kind === 'page') {
      port.postMessage({ number, result: await page(ask.task) } satisfies WorkerReply)
    } else if (ask.kind === 'carry over') {
      carryOver(directory)
      port.postMessage({ number, result: undefined } satisfies WorkerReply)
    } else {
      const result = await sort(ask.task)
      port.postMessage({ number, result } satisfies WorkerReply, result === undefined ? [] : buffersOf(result))
    }
  } catch (error) {
    port.postMessage({ number, error: toPlainError(error) } satisfies WorkerReply)
  }
}

port.on('message', (question: Question) => void answer(question))
