/** mayfly backup, restore and check: a copy of a server under load shows one moment, and damage is found. */

import assert from 'node:assert/strict'
import { once } from 'node:events'
import { copyFileSync, existsSync, mkdirSync, readdirSync, readFileSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { MongoClient } from 'mongodb'
import { mayfly } from '../../src/index.ts'
import { runCli, startCli } from '../support/run-cli.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

/**
 * Writers count up: each writes number n to an item of its own, and only then to a second one, in another
 * container. Whoever sees one moment finds the second at most one behind the first, and never before it. And
 * everything that was answered before the backup began must be in it.
 */
async function backUpUnderLoad(options: { data?: string }, target: string): Promise<void> {
  await using db = await mayfly({ clock: 'manual', ...options })
  const client = newClient(db)
  const { database } = await client.databases.create({ id: 'shop' })
  const first = (await database.containers.create({ id: 'first', partitionKey: '/pk' })).container
  const second = (await database.containers.create({ id: 'second', partitionKey: '/pk' })).container
  const filler = Array.from({ length: 3000 }, (_, at) => ({ id: `f${at}`, pk: 'f', pad: 'x'.repeat(1000) }))
  const file = `${target}.filler.jsonl`
  writeFileSync(file, filler.map(item => JSON.stringify(item)).join('\n'))
  await runCli(['import', file, '--database', 'shop', '--container', 'first', '--endpoint', db.endpoint])
  const answered = [0, 0, 0, 0]
  let isOver = false
  const writers = answered.map(async (_, writer) => {
    for (let n = 1; !isOver; n++) {
      await first.items.upsert({ id: `w${writer}`, pk: 'p', n })
      await second.items.upsert({ id: `w${writer}`, pk: 'p', n })
      answered[writer] = n
    }
  })
  while (answered.some(n => n < 20)) await new Promise(resolve => setTimeout(resolve, 5))
  const before = [...answered]
  const { code, stderr } = await runCli(['backup', target, '--endpoint', db.endpoint])
  isOver = true
  await Promise.all(writers)
  assert.equal(code, 0, stderr)

  const restored = `${target}.restored`
  const restoring = await runCli(['restore', target, '--data', restored])
  assert.equal(restoring.code, 0, restoring.stderr)
  await using copy = await mayfly({ clock: 'manual', data: restored })
  const copied = newClient(copy).database('shop')
  for (const [writer, least] of before.entries()) {
    const read = async (container: string) =>
      (await copied.container(container).item(`w${writer}`, 'p').read()).resource.n as number
    const [a, b] = [await read('first'), await read('second')]
    assert.ok(b >= least, `writer ${writer} was answered ${least}, and the backup has ${b}`)
    assert.ok(a === b || a === b + 1, `the backup has ${a} and ${b}: two moments`)
  }
  const { resources } = await copied
    .container('first')
    .items.query("SELECT VALUE COUNT(1) FROM c WHERE c.pk = 'f'")
    .fetchAll()
  assert.deepEqual(resources, [3000])
  if (options.data !== undefined) {
    assert.deepEqual(
      readdirSync(options.data).filter(name => name.includes('backup')),
      [],
      'nothing is left in the data directory',
    )
  }
}

test('the backup of a server under load shows one moment, on disk and in memory', async () => {
  const folder = temporaryDirectory()
  await backUpUnderLoad({ data: join(folder, 'data') }, join(folder, 'disk.db'))
  await backUpUnderLoad({}, join(folder, 'memory.db'))
  await backUpUnderLoad({}, join(folder, 'memory.db.gz'))
})

test('a backup into a folder is a data directory, and nothing is ever replaced', async () => {
  const folder = temporaryDirectory()
  await using db = await mayfly({ clock: 'manual' })
  await newClient(db).databases.create({ id: 'shop' })
  const target = join(folder, 'copy')
  const args = ['backup', target, '--endpoint', db.endpoint]
  assert.equal((await runCli(args)).code, 0)
  const again = await runCli(args)
  assert.equal(again.code, 1)
  assert.match(again.stderr, /exists and is not replaced\. Name another file/)
  const file = join(folder, 'notes')
  writeFileSync(file, 'mine')
  const inTheWay = await runCli(['backup', file, '--endpoint', db.endpoint])
  assert.deepEqual([inTheWay.code, readFileSync(file, 'utf8')], [1, 'mine'])
  assert.match(inTheWay.stderr, /notes exists and is not replaced\. Name another file/)
  {
    await using copy = await mayfly({ clock: 'manual', data: target })
    assert.equal((await newClient(copy).databases.readAll().fetchAll()).resources.length, 1)
    const used = await runCli(['check', '--data', target])
    assert.match(used.stderr, /in use|used by/i)
  }
  const over = await runCli(['restore', target, '--data', target])
  assert.equal(over.code, 1)
  assert.match(over.stderr, /There is data in .*, which is not replaced/)
  const none = await runCli(['restore', join(folder, 'none'), '--data', join(folder, 'x')])
  assert.match(none.stderr, /There is no backup at/)
  const wrong = join(folder, 'wrong.db')
  writeFileSync(wrong, 'hello')
  const refused = await runCli(['restore', wrong, '--data', join(folder, 'y')])
  assert.equal(refused.code, 1)
  assert.ok(!existsSync(join(folder, 'y', 'mayfly.db')))
})

/** Data with indexes of every kind, a log, lives, and both APIs. */
async function makeData(directory: string): Promise<void> {
  await using db = await mayfly({ clock: 'manual', data: directory })
  const { database } = await newClient(db).databases.create({ id: 'shop' })
  const { container } = await database.containers.create({
    id: 'carts',
    partitionKey: '/pk',
    defaultTtl: 1000,
    uniqueKeyPolicy: { uniqueKeys: [{ paths: ['/mail'] }] },
    changeFeedPolicy: { retentionDuration: 60 },
  } as never)
  for (let at = 0; at < 20; at++) {
    await container.items.create({ id: `i${at}`, pk: `p${at % 3}`, mail: `m${at}`, ...(at % 2 === 0 && { ttl: 60 }) })
  }
  await container.item('i1', 'p1').delete()
  await container.items.upsert({ id: 'i2', pk: 'p2', mail: 'other' })
  const mongo = new MongoClient(db.mongoUri!)
  const people = mongo.db('shop').collection('people')
  await people.createIndex({ tags: 1 })
  await people.createIndex({ mail: 1 }, { unique: true })
  await people.insertMany(Array.from({ length: 10 }, (_, at) => ({ mail: `m${at}`, tags: ['a', `t${at}`], ttl: 5 })))
  await mongo.close()
}

const damages: readonly [what: string, sql: string, found: RegExp][] = [
  ['an item is gone', "DELETE FROM items_N WHERE id = 'i4'", /rows, but counts|index entries have no item/],
  [
    'an entry is gone',
    "DELETE FROM entries_N WHERE sequence = (SELECT sequence FROM items_N WHERE id = 'i4')",
    /the item "i4" of \["p1"\] is missing in index/,
  ],
  [
    'an entry too many',
    "INSERT INTO entries_N SELECT number, x'ff', sequence FROM entries_N LIMIT 1",
    /entries; its items have/,
  ],
  [
    'two items with a unique key',
    'UPDATE entries_N SET key = (SELECT max(key) FROM entries_N) WHERE sequence < 3',
    /have the same key in unique index/,
  ],
  [
    'a deadline that is wrong',
    "UPDATE items_N SET deadline = deadline + 1 WHERE id = 'i4'",
    /has the deadline \d+; by its ttl it would be/,
  ],
  [
    'a body of another item',
    "UPDATE items_N SET body = (SELECT body FROM items_N WHERE id = 'i5') WHERE id = 'i4'",
    /has the id "i5" in its body/,
  ],
  ['a body that is cut', "UPDATE items_N SET body = substr(body, 1, 20) WHERE id = 'i4'", /is not JSON/],
  ['another partition', "UPDATE items_N SET pk = '[\"zz\"]' WHERE id = 'i4'", /belongs to \["p1"\] by its body/],
  ['a counter', "UPDATE containers SET item_rows = item_rows + 1 WHERE id = 'carts'", /rows, but counts/],
  ['a version from the future', "UPDATE items_N SET version = 9999 WHERE id = 'i4'", /has version 9999/],
  [
    'a log that says otherwise',
    "UPDATE log SET body = '{}' WHERE id = 'i4'",
    /the log says of the item "i4" another content/,
  ],
  [
    'a log that has lost a delete',
    "DELETE FROM log WHERE kind = 'delete'",
    /the log says of the item "i1" that it is there, but it is gone/,
  ],
  ['a table of nobody', 'CREATE TABLE items_77 (a)', /The table items_77 belongs to no container/],
]

test('check finds damage of every kind, and changes nothing', async () => {
  const folder = temporaryDirectory()
  const good = join(folder, 'good')
  await makeData(good)
  const bytes = readFileSync(join(good, 'mayfly.db'))
  const fine = await runCli(['check', '--data', good, '--json'])
  assert.equal(fine.code, 0, fine.stdout + fine.stderr)
  const report = JSON.parse(fine.stdout)
  assert.equal(report.ok, true)
  assert.deepEqual(readFileSync(join(good, 'mayfly.db')), bytes)
  for (const [what, sql, found] of damages) {
    const bad = join(folder, what.replaceAll(' ', '-'))
    mkdirSync(bad)
    copyFileSync(join(good, 'mayfly.db'), join(bad, 'mayfly.db'))
    const db = new DatabaseSync(join(bad, 'mayfly.db'))
    const { number } = db.prepare("SELECT number FROM containers WHERE id = 'carts'").get() as { number: number }
    db.exec(sql.replaceAll('_N', `_${number}`))
    db.close()
    const { code, stdout } = await runCli(['check', '--data', bad])
    assert.equal(code, 2, `${what}: ${stdout}`)
    assert.match(stdout, found, what)
  }
})

test('check of a running server reads a copy', async () => {
  const data = join(temporaryDirectory(), 'data')
  await makeData(data)
  await using db = await mayfly({ clock: 'manual', data })
  const { code, stdout, stderr } = await runCli(['check', '--endpoint', db.endpoint])
  assert.equal(code, 0, stdout + stderr)
  assert.match(stdout, /^2 containers, \d+ items, \d+ index entries, \d+ log entries\. Everything is consistent\.\n$/)
  // An import leaves something that Mayfly keeps for itself.
  const file = join(temporaryDirectory(), 'one.jsonl')
  writeFileSync(file, '{"id":"imported","pk":"p"}')
  await runCli(['import', file, '--database', 'shop', '--container', 'carts', '--endpoint', db.endpoint])
  const listed = await fetch(`${db.endpoint}/_mayfly/containers`)
  const { databases } = (await listed.json()) as { databases: { containers: { living: number; backlog: number }[] }[] }
  const containers = databases.flatMap(each => each.containers)
  const known = containers.reduce((sum, { living, backlog }) => sum + living + backlog, 0)
  const again = await runCli(['check', '--endpoint', db.endpoint])
  assert.match(again.stdout, new RegExp(`, ${known} items, `), 'as many items as people see')
})

test('a backup that is interrupted leaves no file, and says so', async () => {
  const begun = Promise.withResolvers<void>()
  const stub = createServer((_, res) => {
    res.writeHead(200, { 'content-length': '1000' }).write('begun')
    begun.resolve()
  })
  await once(stub.listen(0, '127.0.0.1'), 'listening')
  const inside = temporaryDirectory()
  const at = ['--endpoint', `http://127.0.0.1:${(stub.address() as AddressInfo).port}`]
  const running = startCli(['backup', join(inside, 'monday.db'), ...at])
  await begun.promise
  running.process.kill('SIGINT')
  const { code, stderr } = await running.ended
  assert.equal(code, 130)
  assert.match(stderr, /^mayfly: Interrupted\. \S+monday\.db was not written\.\n$/)
  assert.deepEqual(readdirSync(inside), [])
  stub.closeAllConnections()
  stub.close()
})

/** The names in a folder, with those in its folders. */
const namesIn = (folder: string) => readdirSync(folder, { recursive: true }).sort()

test('check leaves nothing behind, so that what it has checked can be restored', async () => {
  const folder = temporaryDirectory()
  // The backup of a file in WAL mode is in WAL mode, too; that of a store in memory is not.
  await using db = await mayfly({ clock: 'manual', data: join(temporaryDirectory(), 'data') })
  await newClient(db).databases.create({ id: 'shop' })
  for (const name of ['a.db', 'b.db.gz', 'c']) {
    const target = join(folder, name)
    const made = await runCli(['backup', target, '--json', '--endpoint', db.endpoint])
    assert.equal(made.code, 0, made.stderr)
    const { file, bytes } = JSON.parse(made.stdout)
    assert.equal(bytes, statSync(file).size, 'the size that was written')
    const before = namesIn(folder)
    const checked = await runCli(['check', '--data', target])
    assert.equal(checked.code, 0, checked.stderr)
    if (name === 'c') assert.equal((await runCli(['check', '--data', file])).code, 0)
    assert.deepEqual(namesIn(folder), before)
    const restored = join(temporaryDirectory(), 'restored')
    const { code, stderr } = await runCli(['restore', target, '--data', restored])
    assert.equal(code, 0, stderr)
    assert.deepEqual(namesIn(restored), ['mayfly.db'])
  }
})

test('check reads the WAL, and does not change it', async () => {
  const folder = temporaryDirectory()
  const live = join(folder, 'live')
  await makeData(live)
  // A connection that stays open keeps the WAL.
  using db = new DatabaseSync(join(live, 'mayfly.db'))
  db.exec("DELETE FROM log WHERE kind = 'delete'")
  const killed = join(folder, 'killed')
  mkdirSync(killed)
  for (const name of ['mayfly.db', 'mayfly.db-wal']) copyFileSync(join(live, name), join(killed, name))
  writeFileSync(join(killed, 'mayfly.pid'), '7\n')
  const before = namesIn(killed)
  const { code, stdout } = await runCli(['check', '--data', killed])
  assert.equal(code, 2, stdout)
  assert.match(stdout, /the log says of the item "i1" that it is there/)
  assert.deepEqual(namesIn(killed), before)
  assert.equal(readFileSync(join(killed, 'mayfly.pid'), 'utf8'), '7\n')
  assert.ok(statSync(join(killed, 'mayfly.db-wal')).size > 0)
})

test('a restore that is refused names the file, and makes no folder', async () => {
  const folder = temporaryDirectory()
  const inside = join(folder, 'inside')
  mkdirSync(inside)
  const wrong = {
    'rows.csv': Buffer.from('id,n\n1,2\n'.repeat(100)),
    'empty.db': Buffer.alloc(0),
    'cut.db.gz': gzipSync(Buffer.from('x'.repeat(10_000))).subarray(0, 20),
    'wrong.gz': gzipSync(Buffer.from('x'.repeat(10_000))),
  }
  for (const [name, bytes] of Object.entries(wrong)) {
    const file = join(inside, name)
    writeFileSync(file, bytes)
    for (const args of [
      ['restore', file, '--data', join(folder, 'new', 'data')],
      ['check', '--data', file],
    ]) {
      const { code, stderr } = await runCli(args)
      assert.equal(code, 1)
      assert.match(stderr, new RegExp(`^mayfly: \\S+${name} is (not a Mayfly file|damaged: [^.]+)\\.\n$`))
    }
  }
  assert.deepEqual(namesIn(folder), ['inside', ...Object.keys(wrong).map(name => join('inside', name))].sort())
})

test('a backup into another format or a missing folder is refused, and makes nothing', async () => {
  const folder = temporaryDirectory()
  await using db = await mayfly({ clock: 'manual' })
  const refusal = async (target: string, endpoint = db.endpoint) => {
    const { code, stderr } = await runCli(['backup', join(folder, target), '--endpoint', endpoint])
    assert.equal(code, 1)
    return stderr
  }
  assert.match(await refusal('b.zip'), /^mayfly: A backup is a \.db or a \.db\.gz file, or a folder, not b\.zip\.\n$/)
  assert.match(await refusal('tpyo/b.db'), /^mayfly: There is no folder \S+tpyo\. Create it first\.\n$/)
  assert.match(await refusal('new/folder', 'http://127.0.0.1:1'), /^mayfly: There is no server/)
  assert.deepEqual(readdirSync(folder), [])
  const made = await runCli(['backup', join(folder, 'b.gz'), '--endpoint', db.endpoint])
  assert.match(made.stdout, new RegExp(`b\\.gz: ${statSync(join(folder, 'b.gz')).size} bytes\\.\n$`))
})
