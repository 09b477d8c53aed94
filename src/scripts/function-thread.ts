/** The thread of user-defined functions. It sleeps until a query asks, answers, and wakes the query. */

import { parentPort, receiveMessageOnPort, workerData } from 'node:worker_threads'
import { FunctionContext } from './function-context.ts'
import { type FromFunctionThread, type FunctionThreadData, type ToFunctionThread, turn } from './function-messages.ts'
import { loadEngine } from './quickjs.ts'

const { port, turn: sharedTurn } = workerData as FunctionThreadData
const turns = new Int32Array(sharedTurn)
const engine = await loadEngine()
const contexts = new Map<number, FunctionContext>()

function answer(message: ToFunctionThread): FromFunctionThread | undefined {
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

// Warm-up: V8 compiles the engine on first use, which makes the first call many times slower.
answer({ kind: 'open', session: 0, epochMs: 0 })
answer({
  kind: 'call',
  session: 0,
  name: 'f',
  body: 'x => [x, "", {}, new Error(1, "").stack]',
  args: '[[1]]',
})
answer({ kind: 'end', session: 0 })

// The starter of this thread waits for the first message, whatever it is.
parentPort?.postMessage('ready')
while (true) {
  Atomics.wait(turns, 0, turn.idle)
  for (let next = receiveMessageOnPort(port); next !== undefined; next = receiveMessageOnPort(port)) {
    const message: ToFunctionThread = next.message
    if (message.kind === 'call') Atomics.store(turns, 0, turn.working)
    const result = answer(message)
    if (message.kind !== 'call') continue
    port.postMessage(result)
    Atomics.store(turns, 0, turn.idle)
    Atomics.notify(turns, 0)
  }
}
