/**
 * Makes glibc's malloc give free memory back to the system.
 *
 * Memory that SQLite, V8 and Node have freed stays with the process: each thread has an arena, and one small
 * block at its end keeps everything before it, even after the thread has ended. glibc has the function
 * `malloc_trim` for this, but Node cannot call it. SQLite can: it loads a library as an extension and calls
 * a function of it to initialise the extension. Called in this way, `malloc_trim` takes its first argument,
 * an address, for a number of bytes, and returns 0 or 1. It runs in a thread of its own, because it takes
 * some milliseconds for every 100 MB.
 */

import { Worker } from 'node:worker_threads'

/**
 * SQLite reports the result 1 as a failed initialization. Other errors mean that there is no such function.
 */
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
