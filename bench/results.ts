/** Saved results: one file for each workload, from which docs/benchmarks.md is made. */

import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { cpus, totalmem } from 'node:os'
import { join } from 'node:path'
import { machine } from '../src/base/clock.ts'
import { type Report, shownFinding } from './report.ts'

const FOLDER = join(import.meta.dirname, 'results')
const GIB = 1024 ** 3

export interface SavedResult {
  readonly command: string
  readonly date: string
  readonly node: string
  readonly machine: string
  /** Other work on the machine, by its load average when the run began. */
  readonly loadAverage: number
  readonly title: string
  readonly columns: readonly string[]
  readonly rows: readonly (readonly string[])[]
  /** Text, median, single rounds, bound. */
  readonly findings: readonly (readonly string[])[]
  readonly notes: readonly string[]
  /** For charts, and for runs that add to it. */
  readonly data?: unknown
}

export function readResult(name: string): SavedResult | undefined {
  const path = join(FOLDER, `${name}.json`)
  return existsSync(path) ? (JSON.parse(readFileSync(path, 'utf8')) as SavedResult) : undefined
}

export function readResults(): ReadonlyMap<string, SavedResult> {
  const names = existsSync(FOLDER) ? readdirSync(FOLDER).filter(name => name.endsWith('.json')) : []
  return new Map(names.toSorted().map(name => [name.slice(0, -5), readResult(name.slice(0, -5))!]))
}

export function saveResult(name: string, report: Report, run: { command: string; loadAverage: number }): void {
  const { title, columns, rows, findings, notes, data } = report
  const saved: SavedResult = {
    ...{ command: run.command, date: new Date(machine.epochMs()).toISOString().slice(0, 10), node: process.version },
    machine: `${cpus()[0]?.model ?? 'unknown processor'}, ${cpus().length} cores, ${Math.round(totalmem() / GIB)} GiB`,
    loadAverage: Number(run.loadAverage.toFixed(2)),
    ...{ title, columns, rows, findings: findings.map(shownFinding), notes },
    ...(data !== undefined && { data }),
  }
  mkdirSync(FOLDER, { recursive: true })
  writeFileSync(join(FOLDER, `${name}.json`), `${JSON.stringify(saved, undefined, 1)}\n`)
}
