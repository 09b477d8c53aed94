/** A change wakes all change streams at once. They share the turns of the event loop while they answer. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { mayfly } from '../../src/index.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { HeldTurns } from './held-turns.ts'

/** Processor time of one turn, twice that of a quiet machine. If all answer in one, it is 75 to 200 ms. */
const heldMsMax = 60

/** The first run compiles code, and garbage is collected in some. */
const runs = 5

const size = 60
const changes: Readonly<Record<string, { documents: number; documentBytes: number }>> = {
  'few large documents': { documents: 20, documentBytes: 50_000 },
  'many small documents': { documents: 400, documentBytes: 100 },
}

const db = await mayfly({ data: temporaryDirectory() })
after(() => db.close())

for (const [name, shape] of Object.entries(changes)) {
  test(`${size} streams and ${name}: the longest turn`, async () => {
    const crowd = new Worker(join(import.meta.dirname, 'stream-crowd.ts'), {
      workerData: { mongoPort: Number(new URL(db.mongoUri).port), size, ...shape },
    })
    try {
      await once(crowd, 'message')
      using turns = new HeldTurns()
      const heldMs: number[] = []
      for (let run = 0; run < runs; run++) {
        crowd.postMessage('read')
        const [answer] = await once(crowd, 'message')
        assert.equal(answer.batches?.length, size, answer.failed)
        assert.ok(answer.batches.every((count: number) => count > 0))
        heldMs.push(turns.takeLongestMs())
      }
      const medianMs = heldMs.toSorted((a, b) => a - b)[Math.floor(runs / 2)]!
      assert.ok(medianMs <= heldMsMax, `${heldMs.map(Math.round)} ms of processor time in one turn`)
    } finally {
      await crowd.terminate()
    }
  })
}
