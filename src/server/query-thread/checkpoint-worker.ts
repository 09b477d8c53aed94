/**
 * A thread that runs checkpoints of the SQLite store. It has nothing else loaded: a thread that makes pages
 * would take five times as much memory in a server that only writes.
 */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { checkpointFile } from '../../adapters/sqlite/file/checkpoints.ts'
import { type Question, type ThreadData, toPlainError, type WorkerReply } from './query-messages.ts'

const { directory, nice } = workerData as ThreadData
const port = parentPort!

// On Linux this sets the priority of the calling thread, elsewhere that of the process.
if (process.platform === 'linux') setPriority(nice)

port.on('message', ({ number }: Question) => {
  try {
    checkpointFile(directory!)
    port.postMessage({ number, result: undefined } satisfies WorkerReply)
  } catch (error) {
    port.postMessage({ number, error: toPlainError(error) } satisfies WorkerReply)
  }
})
