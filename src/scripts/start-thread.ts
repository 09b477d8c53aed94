/** Starts a thread for untrusted code, with a large stack and without the process's environment. */

import type { Worker, WorkerOptions } from 'node:worker_threads'
import { startOwnThread } from '../base/own-thread.ts'

const scriptThreadStackMb = 16

/** Heap outside the engine: a few texts on their way in and out. */
const heapMb = 128

export function startThread(name: string, options: WorkerOptions = {}): Worker {
  return startOwnThread(name, import.meta.url, {
    ...options,
    name,
    argv: [],
    env: {},
    resourceLimits: { stackSizeMb: scriptThreadStackMb, maxOldGenerationSizeMb: heapMb },
  })
}
