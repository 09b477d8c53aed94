/**
 * Runs random operations until PostgreSQL, the embedded store and the model have agreed on a given number of
 * them: `npm run differential [-- --operations 1000000 --seed 1]`.
 *
 * Histories run in parallel, each in its own database. A failure is shrunk and printed, and ends the run.
 */

import { parseArgs } from 'node:util'
import { startPostgres } from '../support/postgres.ts'
import type { Operation } from './operations.ts'
import { postgresSubjects } from './postgres-subject.ts'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: { operations: { type: 'string', default: '1000000' }, seed: { type: 'string' } },
})
const wanted = Number(values.operations)
const seed = values.seed === undefined ? Math.floor(Math.random() * 2 ** 31) : Number(values.seed)
const lanes = 8
const historiesAtOnce = 4
/** Long and rarely reopened: new connections cost PostgreSQL more than a hundred operations. */
const course = { lengthMax: 400, reopenWeight: 3 }
const reportEvery = 10_000

let operations = 0
let reported = 0
const met = new Map<string, number>()

function count(history: readonly Operation[]): void {
  for (const operation of history) {
    if (operation.op === 'together') operations += operation.steps.length
    else operations += operation.op === 'transact' ? operation.writes.length : 1
  }
  if (operations - reported < reportEvery) return
  reported = operations
  process.stdout.write(`${operations} of ${wanted} operations agreed\n`)
}

await using server = await startPostgres()
const subjects = postgresSubjects(server)
process.stdout.write(`seed ${seed}\n`)

async function lane(number: number): Promise<void> {
  for (let round = 0; operations < wanted; round++) {
    const simulation = { runs: historiesAtOnce, course, seed: seed + round * lanes + number, onHistory: count }
    for (const what of await simulate(subjects, simulation)) met.set(what, (met.get(what) ?? 0) + 1)
  }
}

try {
  await Promise.all(Array.from({ length: lanes }, (_, number) => lane(number)))
  process.stdout.write(`${operations} operations: PostgreSQL, the embedded store and the model agree. Met in rounds: `)
  process.stdout.write(`${[...met].map(([what, rounds]) => `${what} ${rounds}`).join(', ')}\n`)
} catch (error) {
  process.stdout.write(`${error instanceof Error ? error.message : error}\n`)
  if (error instanceof Error && error.cause instanceof Error) process.stdout.write(`${error.cause.stack}\n`)
  process.exitCode = 1
}
