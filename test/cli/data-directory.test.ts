/** Who may read the files of a data directory, and which directories are refused. */

import assert from 'node:assert/strict'
import { chmodSync, existsSync, mkdirSync, readdirSync, statSync, symlinkSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { join } from 'node:path'
import test from 'node:test'
import { wellKnownKey } from '../../src/base/account-keys.ts'
import { startPostgres } from '../support/postgres.ts'
import { runCli, serveCli } from '../support/run-cli.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

const skip = process.platform === 'win32' && 'Windows has no such permissions'
const modeOf = (path: string) => statSync(path).mode & 0o777
const flags = (data: string) => ['--data', data, '--port', '0', '--mongo-port', '0', '--json']

test('Only the owner can read what the server writes', { skip }, async () => {
  const data = join(temporaryDirectory(), 'new', 'data')
  const before = process.umask(0)
  try {
    await using server = await serveCli(flags(data))
    await newClient({ endpoint: server.endpoint, key: wellKnownKey }).databases.create({ id: 'shop' })
    assert.equal(modeOf(data), 0o700)
    const files = readdirSync(data)
    assert.ok(files.includes('mayfly.db') && files.includes('mayfly.db-wal'))
    for (const file of files) assert.equal(modeOf(join(data, file)), 0o600, file)
  } finally {
    process.umask(before)
  }
})

test('Files of an earlier version are closed to others; those of the user are left alone', { skip }, async () => {
  const data = temporaryDirectory()
  writeFileSync(join(data, 'mayfly.db'), '', { mode: 0o644 })
  writeFileSync(join(data, 'notes.txt'), '', { mode: 0o644 })
  await using _server = await serveCli(flags(data))
  assert.equal(modeOf(join(data, 'mayfly.db')), 0o600)
  assert.equal(modeOf(join(data, 'notes.txt')), 0o644)
})

test('The folder of a backup that a killed server has left can be removed', { skip }, async () => {
  const data = temporaryDirectory()
  const left = join(data, 'mayfly.backup-left')
  mkdirSync(left, { mode: 0o755 })
  writeFileSync(join(left, 'copy.db'), '')
  await using server = await serveCli(flags(data))
  assert.equal(modeOf(left), 0o755)
  const answer = await fetch(`${server.endpoint}/_mayfly/backup`, { method: 'POST' })
  await answer.arrayBuffer()
  assert.equal(answer.status, 200)
  assert.ok(!existsSync(left))
})

test('Links, and directories that everybody may write to, are refused', { skip }, async () => {
  const parent = temporaryDirectory()
  const target = join(parent, 'target')
  mkdirSync(target)
  symlinkSync(target, join(parent, 'link'))
  const shared = join(parent, 'shared')
  mkdirSync(shared)
  chmodSync(shared, 0o1777)
  const planted = join(parent, 'planted')
  mkdirSync(planted)
  symlinkSync(join(target, 'victim'), join(planted, 'mayfly.db'))
  writeFileSync(join(parent, 'file'), '')
  for (const [data, reason] of [
    ['link', /link is a symbolic link/],
    ['shared', /every user of this machine may write/],
    ['planted', /mayfly\.db is a symbolic link/],
    ['file', /is not a directory/],
  ] as const) {
    const { code, stderr } = await runCli(flags(join(parent, data)))
    assert.equal(code, 1)
    assert.match(stderr, reason)
  }
  assert.deepEqual(readdirSync(target), [])
  assert.ok(!existsSync(join(target, 'victim')))
})

test('A server on PostgreSQL makes the directory for its certificate, and SIGTERM ends it with success', async () => {
  await using postgres = await startPostgres()
  const data = join(temporaryDirectory(), 'not', 'there')
  const server = await serveCli(['--store', await postgres.createDatabase(), ...flags(data)])
  assert.ok(!existsSync(data), 'only a certificate needs it')
  const authority = await (await fetch(`${server.endpoint}/_explorer/emulator.pem`)).text()
  assert.equal(await statusOverTls(`${server.endpoint}/ready`, authority), 200)
  assert.deepEqual(readdirSync(data), ['certificate.pem'])
  const { code, stderr } = await server.stop('SIGTERM')
  assert.equal(code, 0, stderr)
  assert.doesNotMatch(stderr, /"level":"error"/)
})

function statusOverTls(url: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(url.replace('http:', 'https:'), { ca }, answer => resolve(answer.resume().statusCode)).on('error', reject)
  })
}
