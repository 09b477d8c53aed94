/**
 * Hostile works of the NoSQL API, in both stores: none holds the event loop for long, and each ends when its
 * client leaves. `npm run bench -- isolation` measures what others wait.
 */

import assert from 'node:assert/strict'
import { after, describe, mock, test } from 'node:test'
import { Child } from '../../bench/isolation/child.ts'
import { fillHostileData } from '../../bench/isolation/fill.ts'
import type { FromHostile, ToHostile } from '../../bench/isolation/hostile-client.ts'
import { nosqlWorks } from '../../bench/isolation/nosql-works.ts'
import { createDatabase } from '../../bench/targets.ts'
import { machine } from '../../src/base/clock.ts'
import { type MayflyOptions, mayfly } from '../../src/index.ts'
import { halfClosedMsMax } from '../../src/server/http/fast-lane.ts'
import { temporaryDirectory } from '../support/start-server.ts'
import { HeldTurns } from './held-turns.ts'

/** Processor time of one turn: ten times that of a quiet machine. A cut that is missing takes seconds. */
const heldMsMax = 250

/** Processor time in which a work shows what it does: several turns of it, or a cut that is missing. */
const workMs = 150

/** A server that works on takes all the time there is. */
const restMs = 50
const limitMs = 10_000

const pause = (ms: number) => new Promise<void>(resolve => machine.setTimeout(resolve, ms))

function usedMs(since?: NodeJS.CpuUsage): number {
  const { user, system } = process.cpuUsage(since)
  return (user + system) / 1000
}

/** Waits until the work has begun and was done for a while. */
async function letItWork(): Promise<void> {
  const before = process.cpuUsage()
  for (let waitedMs = 0; waitedMs < limitMs && usedMs(before) < workMs; waitedMs += 5) await pause(5)
}

/** Waits until the process uses little processor time. Returns false if it does not. */
async function comesToRest(): Promise<boolean> {
  for (let waitedMs = 0; waitedMs < limitMs; waitedMs += restMs) {
    const before = process.cpuUsage()
    await pause(restMs)
    if (usedMs(before) < restMs / 4) return true
  }
  return false
}

// The client says that it will send nothing more. That counts as leaving after a second, here sooner.
const { setTimeout } = machine
mock.method(machine, 'setTimeout', (work: () => void, ms: number) =>
  setTimeout(work, ms === halfClosedMsMax ? restMs : ms),
)

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
    const hostile = new Child<ToHostile, FromHostile>('hostile-client.ts')
    after(() => hostile[Symbol.asyncDispose]())

    for (const { name } of nosqlWorks) {
      test(name, async () => {
        using turns = new HeldTurns()
        await hostile.ask({ begin: name, ports })
        await letItWork()
        await hostile.ask({ leave: true })
        assert.ok(await comesToRest(), 'the server goes on without a client')
        const heldMs = turns.takeLongestMs()
        assert.ok(heldMs < heldMsMax, `one turn took ${heldMs} ms of processor time`)
      })
    }
  })
}
