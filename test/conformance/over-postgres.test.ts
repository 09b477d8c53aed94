/** The suites of clients once more, with the data of their servers in PostgreSQL: nothing that a client can see differs. */

import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startPostgres } from '../support/postgres.ts'

const root = join(import.meta.dirname, '../..')

/** Runs test files in one process of their own, and gives how many tests passed and what did not. */
async function runSuite(
  pattern: string,
  store: string,
): Promise<{ passed: number; failed: string; code: number | null }> {
  const files = globSync(pattern, { cwd: root }).sort()
  const { NODE_TEST_CONTEXT: _, ...environment } = process.env
  const child = spawn(process.execPath, ['--test', '--test-isolation=none', '--test-reporter=tap', ...files], {
    cwd: root,
    env: { ...environment, MAYFLY_TEST_STORE: store },
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

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

for (const { name, pattern, least } of [
  { name: 'NoSQL', pattern: 'test/conformance/nosql/*.test.ts', least: 600 },
  // Without the one that kills processes, which have data directories.
  { name: 'Mongo', pattern: 'test/conformance/mongo/!(crash).test.ts', least: 200 },
]) {
  test(`the ${name} suites pass over PostgreSQL`, async () => {
    const { passed, failed, code } = await runSuite(pattern, server.url)
    assert.equal(failed, '')
    assert.equal(code, 0)
    assert.ok(passed >= least, `${passed} tests passed`)
  })
}
