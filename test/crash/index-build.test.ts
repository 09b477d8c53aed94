/**
 * Kills the real server while it builds an index of many items during writes, deaths and purges. The finished
 * index is exact.
 */

import assert from 'node:assert/strict'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { loadIndexes } from '../../src/adapters/sqlite/index-records.ts'
import { indexBuildEntriesMax, indexSortRowsMin } from '../../src/adapters/sqlite/sorted-build.ts'
import { machine } from '../../src/base/clock.ts'
import { indexKeys } from '../../src/document/index-keys.ts'
import { Client, ConnectionLost } from './client.ts'
import { Random } from './random.ts'
import { Running, serverArguments } from './server-process.ts'

/** Enough items for a dozen build steps. */
const itemCount = indexSortRowsMin + 10 * indexBuildEntriesMax
const kills = 6
const container = '/dbs/crash/colls/built'

function definition(isIndexed: boolean): string {
  const order = [
    { path: '/n', order: 'ascending' },
    { path: '/s', order: 'descending' },
  ]
  const indexingPolicy = isIndexed ? { compositeIndexes: [order] } : {}
  const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 }
  return JSON.stringify({ id: 'built', partitionKey, defaultTtl: -1, indexingPolicy })
}

function put(client: Client, item: number, random: Random) {
  const ttl = random.chance(0.1) ? { ttl: 5 } : {}
  const body = JSON.stringify({ id: `i${item}`, pk: 'p', n: random.between(0, 9999), s: `${item % 10}`, ...ttl })
  return client.send('POST', `${container}/docs`, { headers: { ...partition, ...upsert }, body })
}

const partition = { 'x-ms-documentdb-partitionkey': '["p"]' }
const upsert = { 'x-ms-documentdb-is-upsert': 'true' }

async function fill(endpoint: string): Promise<void> {
  const clients = Array.from({ length: 16 }, () => new Client(endpoint))
  const [client] = clients
  await client!.json('POST', '/dbs', { body: '{"id":"crash"}' })
  await client!.json('POST', '/dbs/crash/colls', { body: definition(false) })
  await Promise.all(
    clients.map(async (each, lane) => {
      const random = new Random(lane)
      for (let item = lane; item < itemCount; item += clients.length) await put(each, item, random)
      each[Symbol.dispose]()
    }),
  )
}

/** Writes, deletes, lets die and purges until the server is gone or told to stop. */
async function disturb(endpoint: string, random: Random, isOver: () => boolean): Promise<void> {
  using client = new Client(endpoint)
  try {
    while (!isOver()) {
      const item = random.between(0, itemCount + 500)
      const kind = random.weighted({ put: 12, delete: 4, advance: 1, purge: 1 })
      if (kind === 'put') await put(client, item, random)
      else if (kind === 'delete') await client.send('DELETE', `${container}/docs/i${item}`, { headers: partition })
      else if (kind === 'purge') await client.json('POST', '/_mayfly/purge', { body: '{}' })
      else await client.json('POST', '/_mayfly/clock', { body: '{"advance":"2s"}' })
    }
  } catch (error) {
    if (!(error instanceof ConnectionLost)) throw error
  }
}

/** Polls the file of the running server until the newest index has that many entries or is ready. */
async function untilEntered(directory: string, count: number): Promise<void> {
  const db = new DatabaseSync(join(directory, 'mayfly.db'), { readOnly: true })
  const { number } = db.prepare("SELECT number FROM containers WHERE id = 'built'").get() as { number: number }
  const entered = db.prepare(`SELECT count(*) AS count FROM entries_${number} WHERE number = ?`)
  let isThere = false
  for (let look = 0; !isThere; look++) {
    assert.ok(look < 20_000, 'the index does not grow')
    await new Promise<void>(resolve => machine.setTimeout(resolve, 1))
    const index = loadIndexes(db, number).at(-1)
    isThere =
      index?.isReady === true || (entered.get(index?.definition.number ?? 0) as { count: number }).count >= count
  }
  db.close()
}

async function untilReady(endpoint: string): Promise<void> {
  using client = new Client(endpoint)
  for (let look = 0; look < 5000; look++) {
    const { databases } = (await client.json('GET', '/status')) as {
      databases: { containers: { indexes: { state: string }[] }[] }[]
    }
    const { indexes } = databases[0]!.containers[0]!
    if (indexes.length > 0 && indexes.every(({ state }) => state === 'ready')) return
  }
  assert.fail('the index is not ready')
}

interface Built {
  readonly builtTo: number
  readonly entries: number
}

/** The progress of the index build in the file. Opening the file also recovers it, as the server would. */
function lookAt(directory: string, isToBeExact: boolean): Built | undefined {
  const db = new DatabaseSync(join(directory, 'mayfly.db'))
  try {
    const row = db.prepare("SELECT number FROM containers WHERE id = 'built'").get() as { number: number }
    const [index] = loadIndexes(db, row.number)
    if (index === undefined) return undefined
    const { number } = index.definition
    const entries = db
      .prepare(`SELECT key, sequence FROM entries_${row.number} WHERE number = ? ORDER BY key, sequence`)
      .all(number)
    const found = entries.map(({ key, sequence }) => nameOf(key as Uint8Array, sequence as number))
    const items = db.prepare(`SELECT sequence, body FROM items_${row.number}`).all()
    const expected = items.flatMap(({ sequence, body }) =>
      indexKeys(index.definition, JSON.parse(body as string)).keys.map(key => nameOf(key, sequence as number)),
    )
    if (isToBeExact || index.isReady) assert.deepEqual(found, expected.sort())
    const rightful = new Set(expected)
    assert.deepEqual(found.filter(name => !rightful.has(name)).slice(0, 5), [], 'entries without their items')
    const { builtTo } = db.prepare('SELECT built_to AS builtTo FROM indexes').get() as { builtTo: number }
    return { builtTo: index.isReady ? Number.POSITIVE_INFINITY : builtTo, entries: found.length }
  } finally {
    db.close()
  }
}

function nameOf(key: Uint8Array, sequence: number): string {
  return `${Buffer.from(key).toString('hex')} ${String(sequence).padStart(8, '0')}`
}

test('an index whose build is killed again and again is exact in the end, and never has a stray entry', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'mayfly-crash-'))
  let running = new Running(serverArguments(directory))
  let endpoint = await running.ready()
  await fill(endpoint)
  const begun: Built[] = []
  for (let kill = 0; kill < kills; kill++) {
    const random = new Random(kill)
    const load = disturb(endpoint, random, () => false)
    using client = new Client(endpoint)
    // Without and with the index: if it was ready, it is built again.
    for (const isIndexed of kill % 3 === 0 ? [false, true] : [true]) {
      await client.json('PUT', container, { body: definition(isIndexed) })
    }
    await untilEntered(directory, random.between(indexBuildEntriesMax, itemCount - indexBuildEntriesMax))
    await running.end('SIGKILL')
    await load
    const built = lookAt(directory, false)
    if (built !== undefined) begun.push(built)
    running = new Running(serverArguments(directory))
    endpoint = await running.ready()
  }
  const inTheMiddle = begun.filter(({ builtTo }) => builtTo === 0)
  assert.ok(inTheMiddle.length > 2, `kills came too late: ${JSON.stringify(begun)}`)
  let isOver = false
  const load = disturb(endpoint, new Random(99), () => isOver)
  await untilReady(endpoint)
  isOver = true
  await load
  assert.deepEqual(await running.end('SIGTERM'), { code: 0, signal: null })
  lookAt(directory, true)
  rmSync(directory, { recursive: true })
})
