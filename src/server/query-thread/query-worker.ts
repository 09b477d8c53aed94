/**
 * Starts a query thread: at first its priority, because loading its code takes a tenth of a second. Meanwhile
 * the thread that answers all clients goes first.
 */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import type { ThreadBegun, ThreadData } from './query-messages.ts'
import { ownTask } from './task-time.ts'

const { nice } = workerData as ThreadData

// Linux sets the priority of the calling thread; others that of the process.
if (process.platform === 'linux') setPriority(nice)

parentPort!.postMessage({ task: ownTask() } satisfies ThreadBegun)

void import('./query-work.ts')
