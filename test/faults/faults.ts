/** Starts the process in which calls fail. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { type FaultKind, faultKinds } from './shim.ts'

export interface Campaign {
  readonly calls: number
  readonly runs: number
  /** Runs in which a sync failed, and what was to be synced was dropped. */
  readonly drops: number
  /** How the runs ended. */
  readonly ends: Readonly<Record<string, number>>
}

/** `every`: only one of so many calls is failed. */
export function failEachCall(library: string, every: number, kinds: readonly FaultKind[] = faultKinds) {
  const campaign = join(import.meta.dirname, 'campaign.ts')
  return underShim<Campaign>(library, campaign, [`${every}`, kinds.join()])
}

/** Runs a file with the library loaded, and returns what it prints as JSON. */
export function underShim<T>(library: string, file: string, args: readonly string[], variables = {}): T {
  // With one thread for file work, a task waits for all before it.
  const fixed = { LD_PRELOAD: library, FAULT_COUNT: `${library}.count`, UV_THREADPOOL_SIZE: '1' }
  const env = { ...process.env, ...fixed, ...variables }
  const { stdout, stderr, status } = spawnSync(process.execPath, [file, ...args], { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}
