/**
 * Data of every earlier format is opened, migrated and served. The migrations up to that format create the
 * old tables, so a released migration is never edited.
 */

import assert from 'node:assert/strict'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { after, test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { bucketCount, bucketOf, keyColumns } from '../../src/adapters/postgres/rows/keys.ts'
import { migrations as postgresMigrations } from '../../src/adapters/postgres/sql/schema.ts'
import { createItemTableSql, dataFile, migrations as sqliteMigrations } from '../../src/adapters/sqlite/file/schema.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { textOf } from '../../src/document/body.ts'
import type { Store } from '../../src/store/port.ts'
import { put } from '../support/item-write.ts'
import { openGateway, startPostgres } from '../support/postgres.ts'
import { keyOf } from './store-contract.ts'

const start = toEpochSeconds(1_000_000)
const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const
const firstFormat = 1
const ttl = 100

/**
 * One container with a default. It holds `a`, written at the start, and `own`, with its own deadline.
 */
const containerColumns =
  'database, id, rid, version, ts, partition_key, partition_count, default_ttl, inherited_dead_at, own_dead_at, ' +
  'definition'
const partitionKeyText = JSON.stringify(partitionKey)
const containerValues = `1, 'c', 8, 3, ${start}, '${partitionKeyText}', 1, ${ttl}, ${start - 10}, ${start - 10}, '{}'`
const items = [
  { key: keyOf('a'), version: 1, deadline: null },
  { key: keyOf('own'), version: 2, deadline: start + 2 * ttl },
]

async function check(store: Store, clock: ManualClock): Promise<void> {
  const container = (await store.findContainer('d', 'c'))!
  assert.deepEqual(container.policy, { defaultTtl: ttl, inheritedDeadAt: start - 10, ownDeadAt: start - 10 })
  assert.deepEqual(container.partitionKey, partitionKey)
  const living = async () => {
    const found = await Promise.all(['a', 'own', 'new'].map(async id => (await store.read(container, keyOf(id))).item))
    return found.filter(item => item !== undefined).map(({ body }) => JSON.parse(textOf(body)).id)
  }
  assert.deepEqual(await living(), ['a', 'own'])
  const { item } = await store.read(container, keyOf('a'))
  assert.equal(item!.ts, start)

  const written = await store.write(container, put('replace', keyOf('a'), { content: { isNew: true } }))
  assert.equal(written.outcome, 'replaced')
  assert.ok(written.version > item!.version)
  assert.equal((await store.write(container, put('create', keyOf('new')))).outcome, 'created')
  const page = { itemsMax: 10, bytesMax: 1 << 20 }
  const changes = await store.changes(container, { within: { min: '', maxExclusive: 'FF' }, after: '0' }, page)
  const ids = changes.items.map(({ body }) => JSON.parse(textOf(body)).id)
  assert.deepEqual(ids, ['own', 'a', 'new'])

  clock.advance(ttl)
  assert.deepEqual(await living(), ['own'])
  assert.deepEqual(await store.sweep(container, 10), { removed: 2, done: true })
  clock.advance(ttl)
  assert.deepEqual(await living(), [])
  assert.deepEqual(await store.sweep(container, 10), { removed: 1, done: true })
}

test(`SQLite: a file of format ${firstFormat} is migrated and served`, async () => {
  const directory = await mkdtemp(join(tmpdir(), 'mayfly-'))
  const db = new DatabaseSync(join(directory, dataFile))
  for (const migration of sqliteMigrations.slice(0, firstFormat)) db.exec(migration as string)
  db.exec(`
    PRAGMA user_version = ${firstFormat};
    UPDATE clock SET high_water_mark = ${start};
    INSERT INTO databases VALUES (1, 'd', 7, 1, ${start}, NULL);
    INSERT INTO containers (${containerColumns}, item_version, item_rows) VALUES (${containerValues}, 2, 2);
    ${createItemTableSql(1, 1)}
    DROP INDEX items_1_changed;
  `)
  const insert = db.prepare('INSERT INTO items_1 VALUES (?, ?, ?, ?, ?, ?, ?, ?)')
  for (const { key, version, deadline } of items) {
    insert.run(version, key.epk, key.pk, key.id, start, deadline, version, `{"id":"${key.id}"}`)
  }
  db.close()

  const clock = new ManualClock(start)
  const onFatal = (error: Error) => {
    throw error
  }
  const store = withContract(openSqlite({ directory, clock: () => clock, onFatal }))
  await check(store, clock)
  await store[Symbol.asyncDispose]()
  await rm(directory, { recursive: true })
})

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

for (let format = firstFormat; format < postgresMigrations.length; format++) {
  test(`PostgreSQL: a database of format ${format} is migrated and served`, async () => {
    const url = await server.createDatabase()
    await server.query(url, 'CREATE SCHEMA mayfly')
    await server.query(url, 'CREATE TABLE mayfly.format (one int PRIMARY KEY CHECK (one = 1), version int NOT NULL)')
    await server.query(url, `INSERT INTO mayfly.format VALUES (1, ${format})`)
    for (const migration of postgresMigrations.slice(0, format)) await server.query(url, migration)
    // The functions of that format differ from today's.
    await server.query(url, `CREATE FUNCTION mayfly.tick(at bigint) RETURNS text LANGUAGE sql AS 'SELECT NULL'`)
    const bucket = bucketOf(partitionKey, items[0]!.key.epk)
    await server.query(
      url,
      `UPDATE mayfly.clock SET now = ${start};
       INSERT INTO mayfly.databases OVERRIDING SYSTEM VALUE VALUES (1, 'd', 7, 1, ${start}, NULL);
       INSERT INTO mayfly.containers (${containerColumns}) VALUES (${containerValues});
       INSERT INTO mayfly.counters (container, bucket, lsn, rows)
         SELECT 1, b, CASE b WHEN ${bucket} THEN 2 ELSE 0 END, CASE b WHEN ${bucket} THEN 2 ELSE 0 END
         FROM generate_series(0, ${bucketCount - 1}) b`,
    )
    for (const { key, version, deadline } of items) {
      const { epk, pk, id } = keyColumns(key)
      const stored = version * bucketCount + bucket
      await server.query(
        url,
        `INSERT INTO mayfly.items (container, bucket, epk, pk, id, sequence, version, ts, deadline, body)
         VALUES (1, ${bucket}, '${epk}', '\\x${pk.toString('hex')}', '\\x${id.toString('hex')}', ${stored}, ${stored},
           ${start}, ${deadline}, '{"id":"${key.id}"}')`,
      )
    }

    // Formats with a log: entries of two buckets, which the journal shows in the order of time.
    const hasLog = format >= 2 && format < 9
    const entry = (number: number, at: number) =>
      `(2, ${number % bucketCount}, ${number}, 'delete', '', '', '', ${number}, ${number}, ${start}, ${at})`
    if (hasLog) {
      const columns = 'container, bucket, number, kind, epk, pk, id, version, sequence, ts, at'
      await server.query(
        url,
        `INSERT INTO mayfly.log (${columns}) VALUES ${entry(64, 30)}, ${entry(65, 10)}, ${entry(129, 20)}`,
      )
    }

    const clock = new ManualClock(start)
    const store = await openGateway(url, clock)
    if (hasLog) {
      const { entries } = await store.journal(0, { itemsMax: 10, bytesMax: 1 << 20 })
      const versions = entries.map(each => (each.kind === 'item' ? each.change.version : undefined))
      assert.deepEqual(versions, [65, 129, 64])
      assert.ok((await store.journalNow()).tick >= entries.at(-1)!.tick)
    }
    await check(store, clock)
    await store[Symbol.asyncDispose]()
    await server.dropDatabase(url)
  })
}
