/** Starts a thread with a file of Mayfly: a source, its compiled form, or its bundle in the executable. */

import { Worker, type WorkerOptions } from 'node:worker_threads'
import { embeddedText } from './embedded.ts'

/** `beside` is the address of a module in the same folder. The file is in the same form as that one. */
export function startOwnThread(name: string, beside: string, options: WorkerOptions): Worker {
  const bundle = embeddedText(`threads/${name}.js`)
  if (bundle !== undefined) return new Worker(bundle, { ...options, eval: true })
  const extension = beside.slice(beside.lastIndexOf('.'))
  return new Worker(new URL(`./${name}${extension}`, beside), options)
}
