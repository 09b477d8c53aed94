/**
 * Large commands of MongoDB's API: none holds the event loop for long while it is read, parsed, carried out
 * or answered, also if it is refused.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { mayfly } from '../../src/index.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { HeldTurns } from './held-turns.ts'
import { largeCommands } from './large-commands.ts'

/** Processor time of one turn, three times that of a quiet machine. */
const heldMsMax = 20

/** The first run of a command compiles code. */
const runs = 3

const db = await mayfly({ data: temporaryDirectory() })
after(() => db.close())
const client = new Worker(join(import.meta.dirname, 'large-command-client.ts'), {
  workerData: { mongoPort: Number(new URL(db.mongoUri).port) },
})
after(() => client.terminate())

for (const name of Object.keys(largeCommands)) {
  test(`${name}: the longest turn`, async () => {
    using turns = new HeldTurns()
    const heldMs: number[] = []
    for (let run = 0; run < runs; run++) {
      client.postMessage(name)
      await once(client, 'message')
      turns.takeLongestMs()
      const [answer] = await once(client, 'message')
      assert.ok(answer.ok === 1 || answer.code !== undefined, JSON.stringify(answer))
      heldMs.push(turns.takeLongestMs())
    }
    assert.ok(Math.min(...heldMs) <= heldMsMax, `${heldMs.map(Math.round)} ms of processor time in one turn`)
  })
}
