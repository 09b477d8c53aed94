/**
 * Starts a query thread: sets its priority, then loads its code. Loading takes a tenth of a second, and the
 * thread that answers all clients must go first meanwhile.
 */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadBegun, ThreadData } from './query-messages.ts'
import { ownTask } from './task-time.ts'

const { nice } = workerData as ThreadData

// On Linux this sets the priority of the calling thread, elsewhere that of the process.
if (process.platform === 'linux') setPriority(nice)

parentPort!.postMessage({ task: ownTask() } satisfies ThreadBegun)

void import('./query-work.ts')
