/** Kills the real server: fifty times under load, and several times in its very first moments. */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync, watch } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { machine } from '../../src/base/clock.ts'
import { Client, ConnectionLost } from './client.ts'
import { runCycles } from './cycles.ts'
import { Running, serverArguments } from './server-process.ts'
import { definitionText } from './world.ts'

test('fifty kills under load lose nothing acknowledged, revive nothing dead and remove nothing living', async () => {
  const { writes, alive, gone, underWay, purgedByCall, fileChecks, startUpKills, marks } = await runCycles({
    seed: 1,
    cycles: 50,
  })
  // Otherwise the test would have checked nothing.
  const happened = { writes, alive, gone, underWay, purgedByCall, fileChecks, startUpKills, marks }
  for (const [name, count] of Object.entries(happened)) assert.ok(count > 0, `${name}: ${JSON.stringify(happened)}`)
})

test('a first start that is killed at any time leaves a directory that the next start can use', async () => {
  for (const afterMs of [0, 1, 2, 4, 8, 16]) {
    const directory = mkdtempSync(join(tmpdir(), 'mayfly-crash-'))
    await killAtFirstWrite(directory, afterMs)
    const running = new Running(serverArguments(directory))
    using client = new Client(await running.ready())
    const { id } = await client.json('POST', '/dbs', { body: '{"id":"first"}' })
    assert.equal(id, 'first')
    await running.end('SIGKILL')
    rmSync(directory, { recursive: true })
  }
})

test('a container whose creation was killed has all its declared indexes afterwards, or does not exist', async () => {
  for (const afterMs of [20, 30, 40, 50, 60]) {
    const directory = mkdtempSync(join(tmpdir(), 'mayfly-crash-'))
    const running = new Running(serverArguments(directory))
    const endpoint = await running.ready()
    const load = makeContainers(endpoint)
    await new Promise<void>(resolve => machine.setTimeout(resolve, afterMs))
    await running.end('SIGKILL')
    await load
    const next = new Running(serverArguments(directory))
    await next.ready()
    await next.end('SIGTERM')
    const db = new DatabaseSync(join(directory, 'mayfly.db'))
    const incomplete = db.prepare('SELECT id FROM containers WHERE number NOT IN (SELECT container FROM indexes)').all()
    db.close()
    rmSync(directory, { recursive: true })
    assert.deepEqual(incomplete, [])
  }
})

/** Creates one container after the other until the server is gone. */
async function makeContainers(endpoint: string): Promise<void> {
  using client = new Client(endpoint)
  try {
    await client.json('POST', '/dbs', { body: '{"id":"crash"}' })
    for (let made = 0; ; made++) {
      await client.json('POST', '/dbs/crash/colls', { body: definitionText(`c${made}`, null) })
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
  }
}

/** Starts a server in an empty directory and kills it `afterMs` after its data file appeared. */
async function killAtFirstWrite(directory: string, afterMs: number): Promise<void> {
  const appeared = Promise.withResolvers<void>()
  const watcher = watch(directory, (_event, name) => {
    if (name === 'mayfly.db') appeared.resolve()
  })
  const running = new Running(serverArguments(directory))
  await Promise.race([appeared.promise, running.exited])
  watcher.close()
  if (afterMs > 0) await new Promise<void>(resolve => machine.setTimeout(resolve, afterMs))
  const { signal } = await running.end('SIGKILL')
  assert.equal(signal, 'SIGKILL', running.stderr)
}
