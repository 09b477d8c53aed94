/**
 * Runs the client suites again with the data in PostgreSQL: a client must see no difference.
 */

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { startPostgres } from '../support/postgres.ts'
import { runSuite } from '../support/run-suite.ts'

const root = join(import.meta.dirname, '../..')

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

for (const { name, pattern, least } of [
  { name: 'NoSQL', pattern: 'test/conformance/nosql/*.test.ts', least: 600 },
  // Without those whose servers are processes of their own, with data directories or in memory.
  { name: 'Mongo', pattern: 'test/conformance/mongo/!(crash|held-memory).test.ts', least: 200 },
]) {
  test(`the ${name} suites pass over PostgreSQL`, async () => {
    const files = globSync(pattern, { cwd: root }).sort()
    const store = { MAYFLY_TEST_STORE: server.url }
    const { passed, failed, code } = await runSuite(files, store, ['--test-isolation=none'])
    assert.equal(failed, '')
    assert.equal(code, 0)
    assert.ok(passed >= least, `${passed} tests passed`)
  })
}
