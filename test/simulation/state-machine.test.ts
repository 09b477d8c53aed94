/**
 * Random histories of one container, over the real store, compared with the model and with a twin that is
 * never swept.
 *
 * A failure is shrunk and printed with its seed and path. To reproduce it:
 *
 *   MAYFLY_SEED=… MAYFLY_PATH=… node --test test/simulation/state-machine.test.ts
 *
 * MAYFLY_SIMULATION_RUNS=100000 runs that many histories of each kind instead of the few that fit into `npm
 * test`.
 */

import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isReplay } from '../support/property.ts'
import { runsAsked, simulate, toMeet } from './simulate.ts'
import { sqliteInMemory, sqliteOnDisk } from './subject.ts'

test('in memory, a swept container and one that is never swept give the same answers, by the rules', async () => {
  const met = await simulate(sqliteInMemory, { runs: runsAsked(1500) })
  if (!isReplay) assert.deepEqual([...met].sort(), [...toMeet].sort())
})

test('on disk, so does one that is also closed, crashed and reopened with the clock set back', async () => {
  const met = await simulate(sqliteOnDisk, { runs: runsAsked(250) })
  if (!isReplay) assert.deepEqual([...met].sort(), [...toMeet, 'a crash'].sort())
})
