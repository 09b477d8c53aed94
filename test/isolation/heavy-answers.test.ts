/**
 * Large answers for several clients at once: the event loop has turns between their pieces, so a crowd holds
 * it for no longer than one client does.
 */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { join } from 'node:path'
import { after, describe, test } from 'node:test'
import { Worker } from 'node:worker_threads'
import { httpBytes } from '../../bench/isolation/asking.ts'
import { fillHostileData } from '../../bench/isolation/fill.ts'
import type { HttpWork } from '../../bench/isolation/hostile-work.ts'
import { nosqlWorks } from '../../bench/isolation/nosql-works.ts'
import { createDatabase } from '../../bench/targets.ts'
import { type MayflyOptions, mayfly } from '../../src/index.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { HeldTurns } from './held-turns.ts'

/** Processor time of one turn, three times that of a quiet machine. Without turns it is 30 to 100 ms. */
const heldMsMax = 15

/** The first run compiles code, and garbage is collected in some. */
const runs = 5

const crowdSize = 8

const asked: Readonly<Record<string, HttpWork>> = Object.fromEntries(
  ['reads of an item of 2 MB', 'the whole change feed, again and again'].map(name => [
    name,
    nosqlWorks.find(work => work.name === name)!.http!(0),
  ]),
)

const stores: Readonly<Record<string, () => MayflyOptions>> = {
  memory: () => ({}),
  disk: () => ({ data: temporaryDirectory() }),
}

for (const [store, options] of Object.entries(stores)) {
  describe(`${crowdSize} clients at once, ${store}`, async () => {
    const db = await mayfly(options())
    after(() => db.close())
    const ports = { http: Number(new URL(db.endpoint).port), mongo: Number(new URL(db.mongoUri).port) }
    await createDatabase(ports.http)
    await fillHostileData(ports, 1000)
    const crowd = new Worker(join(import.meta.dirname, 'crowd.ts'), {
      workerData: { port: ports.http, size: crowdSize },
    })
    after(() => crowd.terminate())

    for (const [name, work] of Object.entries(asked)) {
      test(name, async () => {
        using turns = new HeldTurns()
        const heldMs: number[] = []
        for (let run = 0; run < runs; run++) {
          crowd.postMessage(httpBytes(work))
          const [answer] = await once(crowd, 'message')
          assert.deepEqual(answer, { statuses: Array(crowdSize).fill(200) })
          heldMs.push(turns.takeLongestMs())
        }
        const medianMs = heldMs.toSorted((a, b) => a - b)[Math.floor(runs / 2)]!
        assert.ok(medianMs <= heldMsMax, `${heldMs.map(Math.round)} ms of processor time in one turn`)
      })
    }
  })
}
