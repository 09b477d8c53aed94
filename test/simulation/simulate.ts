/** Runs random histories over a store and reports what they met. Failures are shrunk and printed. */

import { fc } from '../support/property.ts'
import { type Course, histories, type Operation } from './operations.ts'
import type { Subject } from './subject.ts'
import { World } from './world.ts'

export interface Simulation {
  readonly runs: number
  readonly seed?: number | undefined
  readonly course?: Course
  readonly onHistory?: (history: readonly Operation[]) => void
}

export async function simulate(subject: () => Promise<Subject>, simulation: Simulation): Promise<Set<string>> {
  const { runs, seed, course = { lengthMax: 60, reopenWeight: 30 }, onHistory } = simulation
  const met = new Set<string>()
  const property = fc.asyncProperty(histories(course), async history => {
    await using world = await World.make(await subject(), met)
    for (const operation of history) await world.perform(operation)
    await world.look()
    onHistory?.(history)
  })
  await fc.assert(property, {
    numRuns: runs,
    ...(seed === undefined ? {} : { seed }),
  })
  return met
}

/** What every simulation must have met: one in which nothing happens proves nothing. */
export const toMeet: readonly string[] = [
  ...['created', 'created over the dead', 'replaced', 'deleted', 'exists', 'missing', 'changed'],
  ...['a read', 'a read of a dead item', 'a scan resumed', 'several at once', 'a lost commit'],
  ...['a sweep that removed', 'a sweep in vain', 'a scan of an index'],
  ...['a transaction', 'a refused transaction'],
]

/** The number of histories, or another one from the environment. */
export function runsAsked(runs: number): number {
  const { MAYFLY_SIMULATION_RUNS } = process.env
  return MAYFLY_SIMULATION_RUNS === undefined ? runs : Number(MAYFLY_SIMULATION_RUNS)
}
