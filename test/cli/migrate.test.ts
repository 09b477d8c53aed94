/**
 * mayfly migrate: data moves from a directory to PostgreSQL and back unchanged, even if the move is
 * interrupted and resumed.
 */

import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { TriggerOperation, TriggerType } from '@azure/cosmos'
import { withContract } from '../../src/adapters/contract.ts'
import { openPostgres } from '../../src/adapters/postgres/open.ts'
import { openPostgresTarget } from '../../src/adapters/postgres/transfer.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { openSqliteSource } from '../../src/adapters/sqlite/transfer.ts'
import { ManualClock, type StoredTime, toEpochSeconds } from '../../src/base/clock.ts'
import { effectivePartitionKey } from '../../src/document/effective-partition-key.ts'
import { canonicalPartitionKey } from '../../src/document/partition-key.ts'
import { indexKeysOf } from '../../src/engine/index-keys.ts'
import { mayfly } from '../../src/index.ts'
import { migrateData } from '../../src/server/migrate.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { ItemKey } from '../../src/store/item.ts'
import type { Store } from '../../src/store/port.ts'
import { changeDefault, newPolicy } from '../../src/ttl/lifespan.ts'
import { put } from '../support/item-write.ts'
import { startPostgres } from '../support/postgres.ts'
import { runCli } from '../support/run-cli.ts'
import { newClient, temporaryDirectory } from '../support/start-server.ts'

const server = await startPostgres()
after(() => server[Symbol.asyncDispose]())

const start = toEpochSeconds(1_000_000)
const partitionKey = { paths: ['/pk'], kind: 'Hash', version: 2 } as const
const everything = { min: '', maxExclusive: 'FF' }
const itemCount = 1200
const whole = { itemsMax: 5000, bytesMax: 1 << 26 }

function keyOf(id: string, pk = 'p'): ItemKey {
  return { epk: effectivePartitionKey(partitionKey, [pk]), pk: canonicalPartitionKey([pk]), id }
}

function openAt(place: string, clock: ManualClock): Promise<Store> {
  const startAt = ({ mark }: StoredTime) => {
    clock.set(Math.max(mark, clock.now()))
    return clock
  }
  const onFatal = (error: Error) => {
    throw error
  }
  const options = { clock: startAt, onFatal, keysOf: indexKeysOf }
  return place.startsWith('postgres')
    ? openPostgres({ url: place, ...options }).then(withContract)
    : Promise.resolve(withContract(openSqlite({ directory: place, ...options })))
}

async function make(store: Store, id: string, more: object = {}): Promise<ContainerRecord> {
  const database =
    (await store.findDatabase('d')) ?? (await store.createDatabase({ id: 'd', rid: 7, throughput: null }))!
  const container = await store.createContainer(database, {
    ...{ id, rid: id.length, throughput: null, partitionKey, partitionCount: 1, encoding: 'json' },
    ...{ policy: newPolicy(100), logSeconds: null, definition: { any: 'thing' } },
    ...more,
  } as never)
  return container!
}

/**
 * Items of all kinds: some are dead, some dead for ever under an earlier default. Also a log, a unique key,
 * an index and binary bodies.
 */
async function furnish(store: Store, clock: ManualClock): Promise<string> {
  const items = await make(store, 'items')
  const writeAll = (step: number, content: (n: number) => object) => {
    const numbers = Array.from({ length: itemCount / step }, (_, n) => n * step)
    return Promise.all(
      numbers.map(n => {
        const ttl = [undefined, -1, 50, 500][n % 4]
        const options = { content: content(n), ...(ttl === undefined ? {} : { ttl }) }
        return store.write(items, put('upsert', keyOf(`i${n}`, `p${n % 40}`), options))
      }),
    )
  }
  await writeAll(1, n => ({ n }))
  clock.advance(60)
  await writeAll(5, n => ({ n, again: true }))
  const { position } = await store.changes(
    items,
    { within: everything, after: '0' },
    { itemsMax: 300, bytesMax: 1 << 26 },
  )
  clock.advance(60)
  await store.updateContainer(items, ({ policy }, moment) => ({
    policy: changeDefault(policy, 100_000, moment),
    partitionSplits: 2,
  }))
  const indexed = (await store.createIndex(items, {
    components: [{ path: ['n'], isDescending: false }],
    isDeclared: false,
  }))!
  while (!(await store.buildIndex(indexed, 1, 100)));

  const declaredIndexes = [
    { components: [{ path: ['name'], isDescending: false }], uniqueness: 'partition', isDeclared: true },
  ]
  const unique = await make(store, 'unique', { declaredIndexes, logSeconds: 1000 })
  for (const name of ['a', 'b', 'c']) await store.write(unique, put('create', keyOf(name), { content: { name } }))
  await store.write(unique, { kind: 'delete', key: keyOf('b') })
  await store.write(unique, put('replace', keyOf('c'), { content: { name: 'd' } }))

  const documents = await make(store, 'documents', { encoding: 'bson', policy: newPolicy(null) })
  for (let n = 0; n < 20; n++) {
    const draft = Uint8Array.of(14 + n, 0, 255, n, 0)
    await store.write(documents, { kind: 'create', key: keyOf(`d${n}`), draft, ttl: undefined })
  }
  await make(store, 'empty')
  return position
}

interface Look {
  readonly records: unknown
  readonly items: unknown
  readonly log: unknown
  readonly moment: number
}

/** Everything that a client can see, except the numbers of the newest versions. */
async function look(store: Store): Promise<Look> {
  const [database] = await store.databases()
  const containers = await store.containers(database!)
  const items = []
  for (const container of containers) {
    const found = (await store.scan(container, everything, whole)).items.map(({ body, ...rest }) => ({
      ...rest,
      body: Buffer.from(body).toString('hex'),
    }))
    items.push(found.sort((a, b) => a.sequence - b.sequence))
  }
  const { entries } = await store.log(
    containers.find(({ id }) => id === 'unique')!,
    { within: everything, after: '0' },
    whole,
  )
  const log = entries.map(({ position: _, ...entry }) => entry)
  return { records: containers, items, log, moment: await store.moment() }
}

async function within<T>(place: string, work: (store: Store, clock: ManualClock) => Promise<T>): Promise<T> {
  const clock = new ManualClock(start)
  await using store = await openAt(place, clock)
  return await work(store, clock)
}

/** The changes that a reader of the change feed has not read yet. */
async function changedBehind(store: Store, position: string): Promise<string[]> {
  const items = (await store.findContainer('d', 'items'))!
  const page = await store.changes(items, { within: everything, after: position }, whole)
  return page.items.map(({ key }) => key.id).sort()
}

async function furnished(): Promise<{ directory: string; position: string; changed: string[]; before: Look }> {
  const directory = temporaryDirectory()
  const found = await within(directory, async (store, clock) => {
    const position = await furnish(store, clock)
    return { position, changed: await changedBehind(store, position), before: await look(store) }
  })
  return { directory, ...found }
}

/** Runs a move up to the point where it is interrupted. */
async function moveFirstPart(directory: string, url: string): Promise<void> {
  await using source = openSqliteSource(directory)
  const contents = await source.contents()
  await using target = await openPostgresTarget(url, indexKeysOf)
  await target.begin(contents)
  const first = await source.items(contents.containers[0]!, undefined, 500)
  await target.putItems(contents.containers[0]!, first)
}

test('a move to PostgreSQL and back to a directory changes nothing', async () => {
  const { directory, position, changed, before } = await furnished()
  const url = await server.createDatabase()
  const { code, stdout, stderr } = await runCli(['migrate', '--from', directory, '--to', url])
  assert.equal(code, 0, stderr)
  assert.match(stdout, /^d\/items: 1200 items$/m)
  assert.match(stdout, /^Copied and compared 4 containers with 1222 items and 5 log entries\.$/m)

  await within(url, async (store, clock) => {
    assert.deepEqual(await look(store), before)
    const items = (await store.findContainer('d', 'items'))!
    assert.deepEqual(
      await changedBehind(store, position),
      changed,
      'a position in the change feed goes on where it was',
    )
    assert.ok(changed.length > 100)
    const unique = (await store.findContainer('d', 'unique'))!
    assert.equal((await store.write(unique, put('create', keyOf('x'), { content: { name: 'd' } }))).outcome, 'conflict')
    const written = await store.write(items, put('create', keyOf('new'), { content: { n: -1 } }))
    assert.ok(written.version > itemCount * 1.2, 'versions go on behind those there were')
    await store.write(items, { kind: 'delete', key: keyOf('new') })
    const [index] = items.indexes
    const range = {
      index: index!.definition.number,
      keys: [{ low: Uint8Array.of(0), high: Uint8Array.of(255) }],
      isReverse: false,
      within: everything,
    }
    const living = (await store.scan(items, everything, whole)).items.length
    assert.equal((await store.scanIndex(items, range, whole)).items.length, living)
    assert.ok(living < 1200 && living > 500, 'the dead stay dead')
    assert.equal(
      await store.createDatabase({ id: 'other', rid: 99, throughput: null }).then(other => other!.number > 1),
      true,
    )
    assert.equal(await store.deleteDatabase((await store.findDatabase('other'))!), true)
    clock.advance(1)
  })

  const back = join(temporaryDirectory(), 'back')
  await migrateData({ from: url, to: back }, () => {})
  await within(back, async store => {
    const now = await look(store)
    assert.deepEqual({ ...now, moment: before.moment }, before)
    assert.ok(now.moment >= before.moment)
    const unique = (await store.findContainer('d', 'unique'))!
    assert.equal((await store.write(unique, put('create', keyOf('x'), { content: { name: 'd' } }))).outcome, 'conflict')
  })
  await server.dropDatabase(url)
})

test('the report of a move names containers that users know', async () => {
  const from = temporaryDirectory()
  {
    await using db = await mayfly({ data: from })
    const { database } = await newClient(db).databases.create({ id: 'shop' })
    const { container } = await database.containers.create({ id: 'carts', partitionKey: '/pk' })
    await container.items.create({ id: 'one', pk: 'a' })
    await container.scripts.triggers.create({
      ...{ id: 'watch', body: 'function () {}', triggerType: TriggerType.Pre },
      triggerOperation: TriggerOperation.All,
    })
  }
  const { code, stdout, stderr } = await runCli(['migrate', '--from', from, '--to', join(temporaryDirectory(), 'to')])
  assert.equal(code, 0, stderr)
  assert.equal(stdout, 'shop/carts: 1 item\nCopied and compared 1 container with 1 item and 0 log entries.\n')
})

/** Two logs that are written in turns. The first of `trimmed` has lost its oldest entries. */
async function keepLogs(place: string) {
  return within(place, async (store, clock) => {
    const trimmed = await make(store, 'trimmed', { policy: newPolicy(null), logSeconds: 100 })
    const whole = await make(store, 'whole', { policy: newPolicy(null), logSeconds: 1000 })
    const write = (container: ContainerRecord, id: string) => store.write(container, put('create', keyOf(id)))
    const first = await store.logNow(trimmed)
    for (const id of ['a', 'b', 'c']) for (const container of [whole, trimmed]) await write(container, id)
    clock.advance(50)
    const between = await store.logNow(trimmed)
    for (const id of ['d', 'e']) await write(trimmed, id)
    clock.advance(50)
    while (!(await store.sweep(trimmed, 100)).done);
    for (const id of ['d', 'e', 'f', 'g']) await write(whole, id)
    return { first, between, now: await store.logNow(trimmed), wholeNow: await store.logNow(whole) }
  })
}

async function readLog(store: Store, id: string, after: string) {
  const container = (await store.findContainer('d', id))!
  const { entries, isForgotten } = await store.log(container, { within: everything, after }, whole)
  return isForgotten ? 'forgotten' : entries.map(({ key }) => key.id)
}

test('positions in the log stay valid after a move, and a position that was too old stays too old', async () => {
  const directory = temporaryDirectory()
  const { first, between, now } = await keepLogs(directory)
  const url = await server.createDatabase()
  for (const target of [join(temporaryDirectory(), 'other'), url]) {
    await migrateData({ from: directory, to: target }, () => {})
    await within(target, async store => {
      assert.equal(await readLog(store, 'trimmed', first), 'forgotten')
      assert.deepEqual(await readLog(store, 'trimmed', between), ['d', 'e'])
      for (const id of ['trimmed', 'whole']) {
        assert.deepEqual(await readLog(store, id, now), [])
        await store.write((await store.findContainer('d', id))!, put('create', keyOf('new')))
        assert.deepEqual(await readLog(store, id, now), ['new'], `${id} in ${target}`)
      }
    })
  }
  await server.dropDatabase(url)
})

test('after a move from PostgreSQL a log is read from its beginning, or refused if entries are lost', async () => {
  const url = await server.createDatabase()
  const { first, between, now, wholeNow } = await keepLogs(url)
  const target = join(temporaryDirectory(), 'other')
  await migrateData({ from: url, to: target }, () => {})
  await within(target, async store => {
    for (const position of [first, between, now]) {
      assert.equal(await readLog(store, 'trimmed', position), 'forgotten')
    }
    assert.deepEqual(await readLog(store, 'whole', wholeNow), ['a', 'b', 'c', 'd', 'e', 'f', 'g'])
    const trimmed = (await store.findContainer('d', 'trimmed'))!
    const here = await store.logNow(trimmed)
    await store.write(trimmed, put('create', keyOf('new')))
    assert.deepEqual(await readLog(store, 'trimmed', here), ['new'])
  })
  await server.dropDatabase(url)
})

test('an interrupted move resumes where it was, and nobody can use the target before it is complete', async () => {
  const { directory, before } = await furnished()
  const url = await server.createDatabase()
  await moveFirstPart(directory, url)
  await assert.rejects(openAt(url, new ManualClock(start)), /Data is being moved into this database/)
  const seen: number[] = []
  await migrateData({ from: directory, to: url }, ({ phase, done }) => {
    if (phase === 'copying') seen.push(done)
  })
  assert.equal(seen.at(-1), 1227 - 500, 'what was there is not moved again')
  await within(url, async store => assert.deepEqual(await look(store), before))
  await server.dropDatabase(url)
})

test('data that was damaged on the way is detected, and the move fails', async () => {
  const { directory } = await furnished()
  const url = await server.createDatabase()
  await moveFirstPart(directory, url)
  await server.query(url, 'UPDATE mayfly.items SET deadline = deadline + 1 WHERE deadline < 9007199254740991')
  await assert.rejects(
    migrateData({ from: directory, to: url }, () => {}),
    /d\/items differs between the two stores: 1200 items and 0 log entries there, 1200 items and 0 log entries here/,
  )
  await assert.rejects(openAt(url, new ManualClock(start)), /Data is being moved/)
  await server.dropDatabase(url)
})

test('sources and targets that cannot be used are named, and left unchanged', async () => {
  const refusal = async (from: string, to: string) => {
    const { code, stderr } = await runCli(['migrate', '--from', from, '--to', to])
    assert.equal(code, 1)
    return stderr
  }
  const nowhere = join(temporaryDirectory(), 'nowhere')
  const { directory } = await furnished()
  const url = await server.createDatabase()
  assert.match(await refusal(nowhere, url), /^mayfly: There is no Mayfly data in /)
  assert.equal(existsSync(nowhere), false)
  assert.match(await refusal(directory, directory), /the same/)
  assert.match(await refusal(directory, (await furnished()).directory), /There is Mayfly data in .* already/)
  if (existsSync('/proc/self')) {
    assert.match(await refusal(directory, '/proc/mayfly/data'), /The data directory .* cannot be made/)
  }
  assert.match(await refusal(directory, 'postgres://u@127.0.0.1:1/x'), /cannot be reached/)
  {
    await using _store = await openAt(directory, new ManualClock(start))
    assert.match(await refusal(directory, url), /in use by another Mayfly/)
  }
  {
    await using store = await openAt(url, new ManualClock(start))
    await make(store, 'c')
    assert.match(await refusal(directory, url), /Mayfly serves that database\. Stop it first/)
    assert.match(await refusal(url, nowhere), /Mayfly serves that database\. Stop it first/)
  }
  assert.match(await refusal(directory, url), /There is Mayfly data in that database already/)
  await server.dropDatabase(url)
})
