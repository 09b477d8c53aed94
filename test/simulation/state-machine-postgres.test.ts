/**
 * The random histories of `state-machine.test.ts` over PostgreSQL: the store, the embedded one and the model agree.
 *
 * A failure is shrunk and printed with its seed and path; `npm run differential` runs a million operations.
 */

import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { startPostgres } from '../support/postgres.ts'
import { postgresSubjects } from './postgres-subject.ts'
import { asked, simulate, toMeet } from './simulate.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

test('in PostgreSQL, a container that is swept, closed and reopened answers as an embedded one that is not', async () => {
  const simulation = asked(60)
  const met = await simulate(postgresSubjects(server), simulation)
  if (simulation.path === undefined) assert.deepEqual([...met].sort(), [...toMeet, 'a crash'].sort())
})
