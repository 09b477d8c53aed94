/**
 * Uses the single executable as people without Node do: part of `npm run walk`.
 *
 * It runs in empty folders, with an empty PATH and an empty folder for temporary files.
 */

import assert from 'node:assert/strict'
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { get } from 'node:https'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { MongoClient } from 'mongodb'
import { startPostgres } from '../support/postgres.ts'
import { runCli, serveCli } from '../support/run-cli.ts'
import { succeed as execute } from './project.ts'
import { releasedArchive } from './released.ts'
import { loadExplorer, useKillAndUseAgain } from './story.ts'

const folder = mkdtempSync(join(tmpdir(), 'mayfly-executable-test-'))
after(() => rmSync(folder, { recursive: true, force: true }))

/** A place in which a program that looks around itself for Mayfly's folder finds something else. */
const place = join(folder, 'own', 'bin')
const foundMark = join(folder, 'found')
const temporary = join(folder, 'temporary')
let executable = ''
before(async () => {
  mkdirSync(temporary)
  mkdirSync(join(folder, 'own', 'web'), { recursive: true })
  writeFileSync(join(folder, 'own', 'web', 'build.js'), `require('fs').writeFileSync('${foundMark}', '')`)
  mkdirSync(place)
  await execute('tar', ['-xzf', releasedArchive(), '-C', place], { cwd: folder })
  executable = join(place, readdirSync(place)[0]!, 'mayfly')
})

let folders = 0
function emptyFolder(): string {
  const cwd = join(folder, `empty-${++folders}`)
  mkdirSync(cwd)
  return cwd
}

const run = (cwd: string, ...args: string[]) =>
  runCli(args, { executable, cwd, env: { PATH: '', HOME: cwd, TMPDIR: temporary } })
const serve = (cwd: string, ...args: string[]) =>
  serveCli(['--port', '0', '--mongo-port', '0', '--json', ...args], {
    ...{ executable, cwd },
    env: { PATH: '', HOME: cwd, TMPDIR: temporary },
  })

async function succeed(cwd: string, ...args: string[]): Promise<string> {
  const { code, stdout, stderr } = await run(cwd, ...args)
  assert.equal(code, 0, `mayfly ${args.join(' ')}: ${stdout}${stderr}`)
  return stdout
}

test('it says its version and its commands, and refuses what it does not know', async () => {
  const cwd = emptyFolder()
  const { version } = JSON.parse(readFileSync(new URL('../../package.json', import.meta.url), 'utf8'))
  assert.equal(await succeed(cwd, '--version'), `${version}\n`)
  const help = await succeed(cwd, '--help')
  for (const word of ['serve', 'exec', 'clock', 'import', 'export', 'backup', 'MongoDB']) {
    assert.match(help, new RegExp(word))
  }
  const { code, stderr } = await run(cwd, '--prot', '1')
  assert.equal(code, 1)
  assert.match(stderr, /Did you mean --port/)
  assert.deepEqual(readdirSync(cwd), [])
})

test('it serves both protocols, its threads work, and what it acknowledged is there after kill -9', async () => {
  const cwd = emptyFolder()
  await useKillAndUseAgain(() => serve(cwd, '--data', 'data'))
  assert.deepEqual(readdirSync(cwd), ['data'])
  assert.deepEqual(readdirSync(temporary), [])
})

test('the explorer is inside, and nothing around the executable is taken for its folder', async () => {
  await using server = await serve(emptyFolder(), '--memory')
  await loadExplorer(server)
  assert.ok(!readdirSync(folder).includes('found'))
})

test('the commands work: certificate, clock, export, import, exec', async () => {
  const cwd = emptyFolder()
  await using server = await serve(cwd, '--data', 'data', '--clock', 'manual')
  const { endpoint } = server
  const authority = await (await fetch(`${endpoint}/_explorer/emulator.pem`)).text()
  assert.equal(await statusOverTls(endpoint, authority), 200)
  assert.equal(await succeed(cwd, 'cert', '--data', 'data'), authority)

  writeFileSync(join(cwd, 'carts.jsonl'), '{"id":"a","pk":"x","ttl":60}\n{"id":"b","pk":"x"}\n')
  const target = ['--database', 'shop', '--container', 'carts', '--endpoint', endpoint]
  await succeed(cwd, 'import', 'carts.jsonl', ...target, '--partition-key', '/pk', '--ttl', '-1')
  await succeed(cwd, 'export', ...target, '--output', 'out.csv')
  assert.match(readFileSync(join(cwd, 'out.csv'), 'utf8'), /^a,|,a,/m)
  await succeed(cwd, 'clock', 'advance', '60s', '--endpoint', endpoint)
  const left = await succeed(cwd, 'query', 'SELECT VALUE c.id FROM c', ...target, '--json')
  assert.deepEqual(JSON.parse(left), ['b'])

  const script = 'fetch(process.env.COSMOS_ENDPOINT + "/alive").then(answer => console.log(answer.status))'
  assert.equal(await succeed(cwd, 'exec', '--', process.execPath, '-e', script), '200\n')
})

test('it keeps its data in PostgreSQL', async () => {
  await using postgres = await startPostgres()
  const url = await postgres.createDatabase()
  for (const expected of [1, 2]) {
    await using server = await serve(emptyFolder(), '--store', url)
    const mongo = new MongoClient(server.ready.mongoUri)
    const pets = mongo.db('zoo').collection('pets')
    await pets.insertOne({ n: expected })
    assert.equal(await pets.countDocuments(), expected)
    await mongo.close()
  }
})

function statusOverTls(endpoint: string, ca: string): Promise<number | undefined> {
  return new Promise((resolve, reject) => {
    get(`${endpoint}/alive`.replace('http:', 'https:'), { ca }, answer => {
      answer.resume()
      resolve(answer.statusCode)
    }).on('error', reject)
  })
}
