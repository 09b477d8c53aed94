/**
 * Hostile works of the NoSQL API, in both stores: none holds the event loop for long, and each ends when its
 * client leaves. `npm run bench -- isolation` measures what others wait.
 */

import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { Child } from '../../bench/isolation/child.ts'
import { fillHostileData } from '../../bench/isolation/fill.ts'
import type { FromHostile, ToHostile } from '../../bench/isolation/hostile-client.ts'
import { nosqlWorks } from '../../bench/isolation/nosql-works.ts'
import { createDatabase } from '../../bench/targets.ts'
import { machine } from '../../src/base/clock.ts'
import { type MayflyOptions, mayfly } from '../../src/index.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { HeldTurns } from './held-turns.ts'

/** Processor time of one turn: ten times that of a quiet machine. A cut that is missing takes seconds. */
const heldMsMax = 250

/** A server that works on takes all the time there is. */
const restMs = 200
const restLimitMs = 10_000

const pause = (ms: number) => new Promise<void>(resolve => machine.setTimeout(resolve, ms))

/** Waits until the process uses little processor time. Returns false if it does not. */
async function comesToRest(): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < restLimitMs; waitedMs += restMs) {
    const before = process.cpuUsage()
    await pause(restMs)
    const { user, system } = process.cpuUsage(before)
    if ((user + system) / 1000 < restMs / 4) return true
  }
  return false
}

const stores: Readonly<Record<string, () => MayflyOptions>> = {
  memory: () => ({}),
  disk: () => ({ data: temporaryDirectory() }),
}

for (const [store, options] of Object.entries(stores)) {
  describe(`hostile works, ${store}`, async () => {
    const db = await mayfly(options())
    after(() => db.close())
    const ports = { http: Number(new URL(db.endpoint).port), mongo: Number(new URL(db.mongoUri).port) }
    await createDatabase(ports.http)
    await fillHostileData(ports, 3000)

    for (const { name } of nosqlWorks) {
      test(name, async () => {
        await using hostile = new Child<ToHostile, FromHostile>('hostile-client.ts')
        using turns = new HeldTurns()
        await hostile.ask({ begin: name, ports })
        await pause(300)
        await hostile.ask({ leave: true })
        assert.ok(await comesToRest(), 'the server goes on without a client')
        const heldMs = turns.takeLongestMs()
        assert.ok(heldMs < heldMsMax, `one turn took ${heldMs} ms of processor time`)
      })
    }
  })
}
