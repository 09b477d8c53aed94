/**
 * The random histories of `state-machine.test.ts` over PostgreSQL: the store, the embedded one and the model
 * agree.
 *
 * A failure is shrunk and printed with its seed and path; `npm run differential` runs a million operations.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '../support/postgres.ts'
import { isReplay } from '../support/property.ts'
import { postgresSubjects } from './postgres-subject.ts'
import { runsAsked, simulate, toMeet } from './simulate.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

test('in PostgreSQL, a container that is swept, closed and reopened answers like one that is not', async () => {
  const met = new Set<string>()
  const isWhole = () => [...toMeet, 'a crash'].every(what => met.has(what))
  // A few histories may miss something; a second round will hardly miss the same.
  for (let round = 0; round < 4 && !isWhole(); round++) {
    for (const what of await simulate(postgresSubjects(server), { runs: runsAsked(35) })) met.add(what)
    if (isReplay) return
  }
  assert.deepEqual([...met].sort(), [...toMeet, 'a crash'].sort())
})
