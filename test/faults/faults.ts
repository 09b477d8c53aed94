/** Starts the process in which calls fail. */

import { spawnSync } from 'node:child_process'
import { join } from 'node:path'

/** `every`: only one of so many calls is failed. Returns how many runs there were, and how they ended. */
export function failEachCall(library: string, every: number) {
  const campaign = join(import.meta.dirname, 'campaign.ts')
  return underShim<{ calls: number; runs: number; ends: Record<string, number> }>(library, campaign, [`${every}`])
}

/** Runs a file with the library loaded, and returns what it prints as JSON. */
export function underShim<T>(library: string, file: string, args: readonly string[], variables = {}): T {
  const env = { ...process.env, LD_PRELOAD: library, FAULT_COUNT: `${library}.count`, ...variables }
  const { stdout, stderr, status } = spawnSync(process.execPath, [file, ...args], { env, encoding: 'utf8' })
  if (status !== 0) throw new Error(`it ended with ${status}: ${stderr}`)
  return JSON.parse(stdout)
}
