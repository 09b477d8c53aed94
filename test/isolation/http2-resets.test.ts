/** A client of HTTP/2 that begins requests and cancels them at once does not hold the event loop. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { mayfly } from '../../src/index.ts'
import { HeldTurns } from './held-turns.ts'

/** Processor time of one turn, three times that of a quiet machine. Without a limit it is 65 to 100 ms. */
const heldMsMax = 45

const db = await mayfly()
after(() => db.close())
const client = new Worker(join(import.meta.dirname, 'reset-client.ts'), {
  workerData: { port: Number(new URL(db.endpoint).port), waitMs: 300 },
})
after(() => client.terminate())
await once(client, 'message')

async function reset(count: number): Promise<{ isClosed: boolean; heldMs: number }> {
  using turns = new HeldTurns()
  client.postMessage(count)
  const [{ isClosed }] = await once(client, 'message')
  return { isClosed, heldMs: turns.takeLongestMs() }
}

test('a client that cancels thousands of requests at once is cut off', async () => {
  const runs: { isClosed: boolean; heldMs: number }[] = []
  for (let n = 0; n < 5; n++) runs.push(await reset(5000))
  assert.ok(runs.every(({ isClosed }) => isClosed))
  const heldMs = runs.map(({ heldMs }) => heldMs).toSorted((a, b) => a - b)
  assert.ok(heldMs[2]! <= heldMsMax, `${heldMs.map(Math.round)} ms of processor time in one turn`)
})

test('a client that cancels as many as it may have open goes on', async () => {
  for (let n = 0; n < 3; n++) assert.equal((await reset(100)).isClosed, false)
})
