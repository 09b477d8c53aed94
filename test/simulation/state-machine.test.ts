/**
 * Random histories of one container, over the real store, against the model and against a twin that is never swept.
 *
 * A failure is shrunk and printed with its seed and path. To see it again:
 *
 *   MAYFLY_SIMULATION_SEED=… MAYFLY_SIMULATION_PATH=… node --test test/simulation/state-machine.test.ts
 *
 * MAYFLY_SIMULATION_RUNS=100000 runs that many histories of each kind instead of the few that fit into `npm test`.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { operations } from './operations.ts'
import { type Kind, World } from './world.ts'

const { MAYFLY_SIMULATION_RUNS, MAYFLY_SIMULATION_SEED, MAYFLY_SIMULATION_PATH } = process.env

async function simulate(kind: Kind, runs: number): Promise<Set<string>> {
  const met = new Set<string>()
  const property = fc.asyncProperty(operations, async history => {
    await using world = await World.make(kind, met)
    for (const operation of history) await world.perform(operation)
    await world.look()
  })
  await fc.assert(property, {
    numRuns: MAYFLY_SIMULATION_RUNS === undefined ? runs : Number(MAYFLY_SIMULATION_RUNS),
    ...(MAYFLY_SIMULATION_SEED === undefined ? {} : { seed: Number(MAYFLY_SIMULATION_SEED) }),
    ...(MAYFLY_SIMULATION_PATH === undefined ? {} : { path: MAYFLY_SIMULATION_PATH }),
  })
  return met
}

/** A simulation in which nothing happens proves nothing. */
const toMeet = [
  ...['created', 'created over the dead', 'replaced', 'deleted', 'exists', 'missing', 'changed'],
  ...['a read', 'a read of a dead item', 'a scan resumed', 'several at once', 'a lost commit'],
  ...['a sweep that removed', 'a sweep in vain', 'a scan of an index'],
]

test('in memory, a swept container and one that is never swept answer alike, as the rules say', async () => {
  const met = await simulate('memory', 1500)
  if (MAYFLY_SIMULATION_PATH === undefined) assert.deepEqual([...met].sort(), [...toMeet].sort())
})

test('on disk, so does one that is also closed, crashed and reopened with the clock set back', async () => {
  const met = await simulate('disk', 250)
  if (MAYFLY_SIMULATION_PATH === undefined) assert.deepEqual([...met].sort(), [...toMeet, 'a crash'].sort())
})
