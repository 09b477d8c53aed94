/** The thread of user-defined functions. It sleeps until a query asks, answers, and wakes the query. */

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { FunctionContext } from './function-context.ts'
import { type FromFunctionThread, type FunctionThreadData, type ToFunctionThread, turn } from './function-messages.ts'
import { loadEngine, type ScriptEngine } from './quickjs.ts'

const { port, turn: sharedTurn } = workerData as FunctionThreadData
const turns = new Int32Array(sharedTurn)
const contexts = new Map<number, FunctionContext>()

function answer(engine: ScriptEngine, message: ToFunctionThread): FromFunctionThread | undefined {
  const { session } = message
  try {
    if (message.kind === 'open') contexts.set(session, new FunctionContext(engine, message.epochMs))
    else if (message.kind === 'call') return contexts.get(session)?.call(message) ?? { kind: 'lost' }
    else {
      contexts.get(session)?.dispose()
      contexts.delete(session)
    }
  } catch {
    return { kind: 'lost' }
  }
  return undefined
}

/** V8 compiles the engine on first use, which makes the first call many times slower. */
function warmUp(engine: ScriptEngine): void {
  answer(engine, { kind: 'open', session: 0, epochMs: 0 })
  answer(engine, {
    kind: 'call',
    session: 0,
    name: 'f',
    body: 'x => [x, "", {}, new Error(1, "").stack]',
    args: '[[1]]',
  })
  answer(engine, { kind: 'end', session: 0 })
}

function serve(engine: ScriptEngine): never {
  while (true) {
    Atomics.wait(turns, 0, turn.idle)
    for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
      const message: ToFunctionThread = next.message
      if (message.kind === 'call') Atomics.store(turns, 0, turn.working)
      const result = answer(engine, message)
      if (message.kind !== 'call') continue
      port.postMessage(result)
      Atomics.store(turns, 0, turn.idle)
      Atomics.notify(turns, 0)
    }
  }
}

// The executable runs this file as CommonJS, which has no await at the top.
void loadEngine().then(engine => {
  warmUp(engine)
  // The starter of this thread waits for the first message, whatever it is.
  parentPort?.postMessage('ready')
  serve(engine)
})
