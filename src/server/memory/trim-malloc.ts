/**
 * Gives back to the system what glibc's malloc keeps.
 *
 * What SQLite, V8 and Node take from malloc and free again stays with the process: each thread has an arena,
 * and one small block at its end keeps everything before it, even after the thread has ended. glibc has a
 * call for this, `malloc_trim`, but Node has no way to it. SQLite can load a library and call one of its
 * functions to initialise it, and that function may be this one: it takes the address that it is given for a
 * number of bytes, and answers 0 or 1. It runs in a thread of its own, because it takes some milliseconds for
 * every 100 MB.
 */

import { Worker } from 'node:worker_threads'

/** SQLite takes the answer 1 for a failure, and says so. Other failures: there is no such function. */
const code = `
const { DatabaseSync } = require('node:sqlite')
const { parentPort } = require('node:worker_threads')
let hasTrimmed = true
try {
  new DatabaseSync(':memory:', { allowExtension: true }).loadExtension('libc.so.6', 'malloc_trim')
} catch (error) {
  hasTrimmed = /^error during initialization/.test(error.message)
}
parentPort.postMessage(hasTrimmed)`

let canTrim = process.platform === 'linux'

export async function trimMalloc(): Promise<void> {
  if (!canTrim) return
  canTrim = await new Promise<boolean>((resolve, reject) => {
    const worker = new Worker(code, { eval: true, env: {}, execArgv: ['--no-warnings'], name: 'trim' })
    worker.unref()
    worker
      .once('message', resolve)
      .once('error', reject)
      .once('exit', () => resolve(false))
  })
}
