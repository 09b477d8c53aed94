/** Starts a thread for untrusted code, with a large stack and without the process's environment. */

import { Worker, type WorkerOptions } from 'node:worker_threads'

const scriptThreadStackMb = 16

/** Heap outside the engine: a few texts on their way in and out. */
const heapMb = 128

/** The file has the same extension as this one, which may have been compiled. */
export function startThread(name: string, options: WorkerOptions = {}): Worker {
  const extension = import.meta.url.slice(import.meta.url.lastIndexOf('.'))
  return new Worker(new URL(`./${name}${extension}`, import.meta.url), {
    ...options,
    name,
    argv: [],
    env: {},
    resourceLimits: { stackSizeMb: scriptThreadStackMb, maxOldGenerationSizeMb: heapMb },
  })
}
