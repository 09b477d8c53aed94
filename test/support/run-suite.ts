/** Runs test files in separate processes, with the store from the environment, and sums up the results. */

import { spawn } from 'node:child_process'
import { join } from 'node:path'

const root = join(import.meta.dirname, '../..')

export interface Outcome {
  readonly passed: number
  /** The report of tests that did not pass. */
  readonly failed: string
  readonly code: number | null
}

export async function runSuite(
  files: readonly string[],
  environment: Readonly<Record<string, string>>,
  flags: readonly string[] = [],
): Promise<Outcome> {
  const { NODE_TEST_CONTEXT: _, ...inherited } = process.env
  const child = spawn(process.execPath, ['--test', '--test-reporter=tap', ...flags, ...files], {
    cwd: root,
    env: { ...inherited, ...environment },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  let output = ''
  child.stdout.setEncoding('utf8').on('data', text => {
    output += text
  })
  const code = await new Promise<number | null>(resolve => child.once('close', resolve))
  const failed = output.match(/^ *not ok [\s\S]*?\n *\.\.\.$/gm) ?? []
  return { passed: output.match(/^ *ok \d+/gm)?.length ?? 0, failed: failed.join('\n'), code }
}
