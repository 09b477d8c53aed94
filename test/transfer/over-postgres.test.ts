/** Imports into PostgreSQL: the same outcomes, and batches that are sent again are done once. */

import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { mayfly } from '../../src/index.ts'
import { startPostgres } from '../support/postgres.ts'
import { runCli } from '../support/run-cli.ts'
import { runSuite } from '../support/run-suite.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

test('rows are imported over PostgreSQL as over SQLite', async () => {
  const store = { MAYFLY_TEST_STORE: server.url }
  const { passed, failed, code } = await runSuite(['test/transfer/import-rows.test.ts'], store)
  assert.equal(failed, '')
  assert.equal(code, 0)
  assert.ok(passed >= 9, `${passed} tests passed`)
})

test('a backup of data in PostgreSQL names the tool for it', async () => {
  await using db = await mayfly({ clock: 'manual', store: server.url })
  const { code, stderr } = await runCli(['backup', join(temporaryDirectory(), 'a.db'), '--endpoint', db.endpoint])
  assert.equal(code, 1)
  assert.match(stderr, /The data is in PostgreSQL, .* pg_dump --format=custom/)
  const checked = await runCli(['check', '--endpoint', db.endpoint])
  assert.equal(checked.code, 1)
  assert.match(checked.stderr, /mayfly check reads data in SQLite\. The data of this server is in PostgreSQL/)
})
