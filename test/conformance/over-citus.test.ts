/**
 * Runs the PostgreSQL tests again on a Citus cluster. MAYFLY_TEST_CITUS is the URL of a database on its
 * coordinator, which must know the workers. Each file creates its own databases, on every node.
 */

import assert from 'node:assert/strict'
import { globSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { databasesNamed, dropDatabase } from '../support/databases.ts'
import { runSuite } from '../support/run-suite.ts'
import { suiteDatabases } from '../support/test-store.ts'

const root = join(import.meta.dirname, '../..')
const cluster = process.env.MAYFLY_TEST_CITUS ?? ''
const skip = cluster === ''
const why = skip ? ' (skipped: MAYFLY_TEST_CITUS names no cluster)' : ''

/** Servers leave their databases behind, and each database costs the cluster a process. */
async function dropSuiteDatabases(): Promise<void> {
  for (const name of await databasesNamed(cluster, suiteDatabases)) await dropDatabase(cluster, name)
}

after(async () => {
  if (!skip) await dropSuiteDatabases()
})

for (const { name, pattern, least } of [
  { name: 'storage contract', pattern: 'test/contract/postgres.test.ts', least: 40 },
  { name: 'gateways', pattern: 'test/contract/postgres-gateways.test.ts', least: 12 },
  { name: 'change order', pattern: 'test/contract/postgres-change-order.test.ts', least: 2 },
  { name: 'faults', pattern: 'test/contract/postgres-faults.test.ts', least: 6 },
  { name: 'state machine', pattern: 'test/simulation/state-machine-postgres.test.ts', least: 1 },
  { name: 'servers', pattern: 'test/conformance/postgres*.test.ts', least: 8 },
  { name: 'migration', pattern: 'test/cli/migrate.test.ts', least: 3 },
  { name: 'NoSQL client', pattern: 'test/conformance/nosql/*.test.ts', least: 600 },
  // Without the one that kills processes, which have data directories.
  { name: 'Mongo client', pattern: 'test/conformance/mongo/!(crash).test.ts', least: 200 },
]) {
  test(`the ${name} tests pass over Citus${why}`, { skip }, async () => {
    let passed = 0
    for (const file of globSync(pattern, { cwd: root }).sort()) {
      const outcome = await runSuite([file], { MAYFLY_TEST_POSTGRES: cluster, MAYFLY_TEST_STORE: cluster })
      assert.equal(outcome.failed, '')
      assert.equal(outcome.code, 0, file)
      passed += outcome.passed
      await dropSuiteDatabases()
    }
    assert.ok(passed >= least, `${passed} tests passed`)
  })
}
