/** A PostgreSQL that cannot be used: the command says why, exits with 1, and has created nothing. */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { objectionTo } from '../../src/adapters/postgres/connection/unusable.ts'
import { startPostgres } from '../support/postgres.ts'
import { runCli } from '../support/run-cli.ts'
import { temporaryDirectory } from '../support/start-server.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const url = await server.createDatabase()
const name = new URL(url).pathname.slice(1)

function changed(change: (url: URL) => void): string {
  const other = new URL(url)
  change(other)
  return other.href
}

async function refusal(store: string): Promise<string> {
  const cwd = temporaryDirectory()
  const { code, stdout, stderr } = await runCli(['--store', store, '--port', '0', '--json'], { cwd })
  assert.equal(code, 1, stderr)
  assert.equal(stdout, '')
  assert.ok(!existsSync(join(cwd, 'mayfly-data')), 'no directory was made')
  const { password } = new URL(url)
  assert.ok(password === '' || !stderr.includes(`:${password}@`), 'no password is shown')
  return stderr
}

async function hasSchema(): Promise<boolean> {
  return (await server.query(url, `SELECT 1 FROM pg_namespace WHERE nspname = 'mayfly'`)).length > 0
}

test('a wrong URL, address, user, password or database is refused', async () => {
  const { host, hostname, port, password } = new URL(url)
  const secret = password === '' ? '' : `:${password}`
  assert.match(await refusal('mysql://localhost/x'), /^mayfly: --store takes a URL that begins with postgres:\/\//)
  assert.match(await refusal('postgres://u@127.0.0.1:1/x'), /^mayfly: PostgreSQL at 127\.0\.0\.1:1 cannot be reached/)
  assert.match(
    await refusal('postgres://u@no.such.host.invalid/x'),
    /^mayfly: PostgreSQL at no\.such\.host\.invalid:5432 cannot be/,
  )
  const nowhere = await refusal(
    changed(it => {
      it.pathname = '/nowhere'
    }),
  )
  assert.match(nowhere, new RegExp(`^mayfly: There is no database nowhere in PostgreSQL at ${hostname}:${port}`))
  if (secret !== '') {
    const stranger = await refusal(`postgres://mayfly:wrong@${host}/${name}`)
    assert.match(stranger, /^mayfly: PostgreSQL at .* does not let mayfly in: check user and password/)
  }
  assert.equal(await hasSchema(), false)
})

test('a user without rights, synchronous_commit = off and a read-only database are refused', async () => {
  const role = `poor_${process.pid}`
  await server.query(url, `CREATE ROLE ${role} LOGIN PASSWORD 'poor'`)
  const poor = changed(it => {
    it.username = role
    it.password = 'poor'
  })
  assert.match(
    await refusal(poor),
    new RegExp(`^mayfly: ${role} may not make or use the schema mayfly in ${name}. Let it: GRANT`),
  )
  for (const [setting, value, words] of [
    ['synchronous_commit', 'off', /before they are on disk/],
    ['default_transaction_read_only', 'on', /takes no writes/],
  ] as const) {
    await server.query(server.url, `ALTER DATABASE ${name} SET ${setting} = ${value}`)
    assert.match(await refusal(url), words)
    await server.query(server.url, `ALTER DATABASE ${name} RESET ${setting}`)
  }
  await server.query(server.url, `DROP ROLE ${role}`)
  assert.equal(await hasSchema(), false)
})

test('a server that is too old, an encoding other than UTF8 and a standby are refused', () => {
  const good = {
    ...{ version: 150_000, version_text: '15.0', encoding: 'UTF8' },
    ...{ is_standby: false, read_only: 'off', commits: 'on' },
  }
  assert.equal(objectionTo(good), undefined)
  assert.match(objectionTo({ ...good, version: 130_022, version_text: '13.22' })!, /13\.22 is too old: Mayfly needs 14/)
  assert.match(objectionTo({ ...good, encoding: 'LATIN1' })!, /encoded in LATIN1/)
  assert.match(objectionTo({ ...good, is_standby: true })!, /standby/)
})

test('data of a newer version is not touched', async () => {
  await server.query(url, 'CREATE SCHEMA mayfly')
  await server.query(url, 'CREATE TABLE mayfly.format (one int PRIMARY KEY, version int NOT NULL)')
  await server.query(url, 'INSERT INTO mayfly.format VALUES (1, 1000)')
  assert.match(
    await refusal(url),
    /^mayfly: The data was written by a newer version of Mayfly \(format 1000; this one knows \d+\)/,
  )
  assert.deepEqual(await server.query(url, 'SELECT version FROM mayfly.format'), [{ version: 1000 }])
  assert.deepEqual(await server.query(url, `SELECT tablename FROM pg_tables WHERE schemaname = 'mayfly'`), [
    { tablename: 'format' },
  ])
})
