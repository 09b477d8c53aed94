/** What the clients did when they were last run, in results.json. docs/compatibility.md is made from it. */

import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { clients } from './clients.ts'
import { type Outcome, stepsOf } from './steps.ts'

export interface ClientResult {
  /** Version of the client. */
  readonly version: string
  /** Date of the run. */
  readonly ran: string
  readonly steps: Readonly<Record<string, Outcome>>
}

export type Results = Readonly<Record<string, ClientResult>>

const path = join(import.meta.dirname, 'results.json')

export function readResults(): Results {
  return JSON.parse(readFileSync(path, 'utf8')) as Results
}

/** Clients and steps in the order of their tables, so that a run changes only the lines of what it found. */
export function writeResults(results: Results): void {
  const ordered: Record<string, ClientResult> = {}
  for (const language of Object.keys(clients)) {
    const result = results[language]
    if (result === undefined) continue
    const outcomes = Object.keys(stepsOf(clients[language]!.api)).map(step => [step, result.steps[step]])
    ordered[language] = { ...result, steps: Object.fromEntries(outcomes) as ClientResult['steps'] }
  }
  const text = JSON.stringify(ordered, null, 2).replaceAll(/\{\s+"ok": true\s+\}/g, '{ "ok": true }')
  writeFileSync(path, `${text}\n`)
}
