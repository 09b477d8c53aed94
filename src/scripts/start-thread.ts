/**
 * Starts a thread for code that nobody vouches for: with a stack the engine needs, and without the process's
 * environment.
 */

import { Worker, type WorkerOptions } from 'node:worker_threads'

const scriptThreadStackMb = 16

/** What the thread keeps outside the engine: texts on their way in and out, a few at a time. */
const heapMb = 128

/** The file has the extension this one has: it may have been compiled. */
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
