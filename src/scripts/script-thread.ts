/** The thread that runs stored procedures and triggers, one at a time. */

import { setPriority } from 'node:os'
import { parentPort, workerData } from 'node:worker_threads'
import { assert } from '../base/error.ts'
import { Execution } from './execution.ts'
import { loadEngine, type ScriptEngine } from './quickjs.ts'
import type { FromThread, RunEnd, ToThread } from './thread-messages.ts'

const port = parentPort
assert(port !== null, 'this file is the start of a thread')
const post = (message: FromThread): void => port.postMessage(message)

/** The number of the run that must stop. */
const stopped = workerData as Int32Array
const threadNice = 5

// The main thread, which answers all clients, goes first. Linux sets the priority of the calling thread.
if (process.platform === 'linux') setPriority(threadNice)

let current: { readonly run: number; readonly execution: Execution } | undefined

function step(engine: ScriptEngine, message: ToThread): RunEnd | undefined {
  const { kind, run } = message
  if (kind === 'run') {
    const isStopped = () => Atomics.load(stopped, 0) === run
    current = { run, execution: new Execution(engine, message, isStopped, call => post({ kind: 'call', run, call })) }
    return current.execution.start()
  }
  return kind === 'answer' ? current?.execution.answer(message) : undefined
}

function hear(engine: ScriptEngine, message: ToThread): void {
  const { kind, run } = message
  if (kind !== 'run' && run !== current?.run) return
  let end: RunEnd | undefined
  let isEngineLost = false
  try {
    end = step(engine, message)
    if (end === undefined && kind !== 'drop') return
    current?.execution.dispose()
  } catch {
    // The engine is WebAssembly: after a crash its memory cannot be used any more.
    isEngineLost = true
  }
  current = undefined
  post({ kind: 'end', run, end, isEngineLost })
}

// The executable runs this file as CommonJS, which has no await at the top.
void loadEngine().then(engine => {
  port.on('message', (message: ToThread) => hear(engine, message))
  post({ kind: 'ready' })
})
