/** The SQLite store on a disk that fails: full, limited, removed, with a damaged page or a damaged WAL. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { dataFile } from '../../src/adapters/sqlite/schema.ts'
import { pageBytes } from '../../src/adapters/sqlite/settings.ts'
import { Snapshots } from '../../src/adapters/sqlite/snapshot.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import { CapacityError } from '../../src/base/error.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import { jsonIndexKeys } from '../../src/document/index-keys.ts'
import { put } from '../support/item-write.ts'
import { keyOf, makeContainer } from './store-contract.ts'

const isRefused = (error: unknown) => error instanceof CapacityError && error.kind === 'unavailable'

function open(directory: string, { acceptLostWrites = false } = {}) {
  const clock = new ManualClock(toEpochSeconds(1_000_000))
  const reports: string[] = []
  const onFatal = (error: Error) => reports.push(`fatal: ${error.message}`)
  const onDisk = (condition: string) => reports.push(condition)
  const store = withContract(openSqlite({ directory, clock: () => clock, onFatal, onDisk, acceptLostWrites }))
  const end = async () => {
    await store[Symbol.asyncDispose]()
  }
  return { store, clock, reports, end }
}

const scratch = () => mkdtempSync(join(tmpdir(), 'mayfly-disk-'))
const itemOf = (n: number, characters = 1000) =>
  put('create', keyOf(`${n}`), { content: { text: 'x'.repeat(characters) } })

const containerIn = async (store: ReturnType<typeof open>['store']) => {
  const [database] = await store.databases()
  return (await store.containers(database!))![0]!
}

test('a WAL whose damage lost acknowledged writes is refused; a last commit that was cut off is not', async () => {
  const directory = scratch()
  const live = open(directory)
  const container = await makeContainer(live.store, null)
  for (let n = 0; n < 5; n++) await live.store.write(container, itemOf(n))
  const crashed = scratch()
  cpSync(directory, crashed, { recursive: true })
  await live.end()
  const walFile = join(crashed, `${dataFile}-wal`)
  const wal = readFileSync(walFile)
  const frameBytes = pageBytes + 24
  const frames = Math.floor((wal.length - 32) / frameBytes)
  const ends = Array.from({ length: frames }, (_, n) => n).filter(n => wal.readUInt32BE(32 + n * frameBytes + 4) > 0)
  assert.ok(ends.length > 5)
  const startOfLast = ends.at(-2)! + 1
  for (let frame = -1; frame < frames; frame++) {
    const copy = scratch()
    cpSync(crashed, copy, { recursive: true })
    const damaged = Buffer.from(wal)
    const at = frame === -1 ? 20 : 32 + frame * frameBytes + 3000
    damaged[at] = damaged[at]! ^ 1
    writeFileSync(join(copy, `${dataFile}-wal`), damaged)
    if (frame < startOfLast) {
      assert.throws(() => open(copy), /acknowledged are lost.*--accept-lost-writes/, `frame ${frame}`)
    } else {
      await open(copy).end()
    }
    rmSync(copy, { recursive: true })
  }
  const untouched = open(crashed)
  assert.equal((await untouched.store.census(await containerIn(untouched.store))).rows, 5)
  await untouched.end()
  const accepted = scratch()
  cpSync(crashed, accepted, { recursive: true })
  const half = Buffer.from(wal)
  half[32 + ends.at(-3)! * frameBytes + 3000]! ^= 1
  writeFileSync(join(accepted, `${dataFile}-wal`), half)
  assert.throws(() => open(accepted))
  await open(accepted, { acceptLostWrites: true }).end()
  for (const used of [directory, crashed, accepted]) rmSync(used, { recursive: true })
})

/** A directory whose data file has a damaged page with items. */
async function damagedDirectory(): Promise<string> {
  const directory = scratch()
  const before = open(directory)
  const made = await makeContainer(before.store, null)
  await Promise.all(Array.from({ length: 400 }, (_, n) => before.store.write(made, itemOf(n))))
  await before.end()
  const file = readFileSync(join(directory, dataFile))
  // A leaf of the items: its page begins with 13 (table leaf), and it is full of text.
  const leaves = Array.from({ length: file.length / pageBytes }, (_, n) => n).filter(
    n => file[n * pageBytes] === 13 && file.subarray(n * pageBytes, (n + 1) * pageBytes).includes('xxxxxxxx'),
  )
  const leaf = leaves[Math.floor(leaves.length / 2)]!
  file.fill(0xff, leaf * pageBytes, (leaf + 1) * pageBytes)
  writeFileSync(join(directory, dataFile), file)
  return directory
}

test('a page that the reader of a query thread finds damaged stops writes as well, and is reported once', async () => {
  const directory = await damagedDirectory()
  const { store, reports, end } = open(directory)
  const container = await containerIn(store)
  await store.write(container, itemOf(1000))
  const snapshots = new Snapshots(directory, jsonIndexKeys)
  const at = { moment: toEpochSeconds(1_000_000), policy: container.policy }
  const page = { itemsMax: 1000, bytesMax: 1e9 }
  const outcomes: unknown[] = []
  // More often than there are connections: none is lost by it.
  for (let again = 0; again < 9; again++) {
    outcomes.push(await snapshots.within(container.number, it => it.scanRows(undefined, at, page)).catch(String))
  }
  snapshots[Symbol.dispose]()
  assert.equal(outcomes.length, 9)
  for (const outcome of outcomes) assert.match(String(outcome), /The data file is damaged/)
  // The news comes by another way than the answer.
  for (let turns = 0; turns < 1000 && reports.length === 0; turns++) {
    await new Promise<void>(resolve => machine.setImmediate(resolve))
  }
  await assert.rejects(store.write(container, itemOf(1001)), /damaged. Nothing is written any more/)
  assert.deepEqual(reports, ['refused'])
  await end()
  rmSync(directory, { recursive: true })
})

test('a damaged page is reported once, stops writes, and lets what is whole be read', async () => {
  const directory = await damagedDirectory()
  const { store, reports, end } = open(directory)
  const container = await containerIn(store)
  let [whole, refused] = [0, 0]
  for (let n = 0; n < 400; n++) {
    try {
      assert.ok((await store.read(container, keyOf(`${n}`))).item)
      whole++
    } catch (error) {
      assert.ok(isRefused(error), `${error}`)
      refused++
    }
  }
  assert.ok(refused > 0 && refused < 20 && whole + refused === 400, `${whole} ${refused}`)
  await assert.rejects(store.write(container, itemOf(1000)), /damaged. Nothing is written any more/)
  await assert.rejects(store.sweep(container, sweepRowsMax), isRefused)
  assert.deepEqual(reports, ['refused'])
  await end()
  rmSync(directory, { recursive: true })
})

test('when the data directory was removed, writes are refused and reads go on', async () => {
  const directory = scratch()
  const { store, clock, reports, end } = open(directory)
  const container = await makeContainer(store, null)
  await store.write(container, itemOf(1))
  rmSync(directory, { recursive: true })
  clock.advance(1)
  await assert.rejects(store.write(container, itemOf(2)), /was removed or replaced/)
  await assert.rejects(store.write(container, itemOf(3)), isRefused)
  assert.ok((await store.read(container, keyOf('1'))).item)
  assert.deepEqual(reports, ['refused'])
  await end()
})

test('a file that may not grow (EFBIG) is a full disk, not the end of the store', {
  skip: process.platform === 'win32' && 'Windows has no limit on the size of files',
}, () => {
  const directory = scratch()
  const script = join(import.meta.dirname, 'limited-file.ts')
  // In blocks of 1 KiB.
  const command = 'ulimit -f 12000 && exec "$0" "$1" "$2"'
  const output = execFileSync('bash', ['-c', command, process.execPath, script, directory], { encoding: 'utf8' })
  const expected = ['refused', 'unavailable', 'refused at once', 'all are there', '0 rows after the purge']
  assert.deepEqual(JSON.parse(output), expected)
  rmSync(directory, { recursive: true })
})

function smallDisk(): { directory: string; end: () => void } | undefined {
  const directory = scratch()
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=48m,mode=700', 'tmpfs', directory], { stdio: 'ignore' })
  } catch {
    rmSync(directory, { recursive: true })
    return undefined
  }
  return {
    directory,
    end: () => {
      execFileSync('umount', [directory])
      rmSync(directory, { recursive: true })
    },
  }
}

const disk = smallDisk()
test('a full disk goes on purging, and takes writes again when there is room, without a restart', {
  skip: disk === undefined && 'only root can mount a small disk',
}, async () => {
  const { store, clock, reports, end } = open(disk!.directory)
  const container = await makeContainer(store, 100)
  while (await store.reclaim(sweepRowsMax)) {}
  /** As the purger does it: after a failure it tries again. */
  const idle = async () => {
    try {
      while (await store.reclaim(sweepRowsMax)) {}
    } catch (error) {
      assert.ok(isRefused(error), `${error}`)
    }
  }
  let written = 0
  let refusals = 0
  while (refusals < 20) {
    const group = await Promise.allSettled(
      Array.from({ length: 20 }, (_, n) => store.write(container, itemOf(written + n, 10_000))),
    )
    if (group.every(({ status }) => status === 'fulfilled')) written += 20
    else {
      assert.ok(group.every(one => one.status === 'rejected' && isRefused(one.reason)))
      refusals++
    }
  }
  assert.ok(written > 1000, `${written}`)
  assert.deepEqual(reports, ['refused'])
  for (let n = 0; n < written; n += 7) assert.ok((await store.read(container, keyOf(`${n}`))).item)
  assert.equal((await store.census(container)).rows, written)
  clock.advance(200)
  let removed = 0
  let isDone = false
  for (let pass = 0; pass < 20 && !isDone; pass++) {
    try {
      while (!isDone) {
        const swept = await store.sweep(container, sweepRowsMax)
        removed += swept.removed
        isDone = swept.done
      }
    } catch (error) {
      assert.ok(isRefused(error))
    }
    await idle()
  }
  assert.equal(removed, written)
  // The disk is tried again once a second.
  for (let pass = 0; pass < 50 && reports.length < 2; pass++) {
    await idle()
    await store.write(container, itemOf(pass)).catch(isRefused)
    await new Promise<void>(resolve => machine.setTimeout(resolve, 100))
  }
  assert.deepEqual(reports, ['refused', 'writable'])
  await store.write(container, itemOf(1000))
  await end()
})
test('a read-only disk is refused in plain words, and can be used again when it is writable', {
  skip: disk === undefined && 'only root can mount a disk read-only',
}, async () => {
  const mount = (options: string) => execFileSync('mount', ['-o', `remount,${options}`, disk!.directory])
  mount('ro')
  try {
    assert.throws(() => open(disk!.directory), /the disk of .* is read-only. Make it writable/i)
  } finally {
    mount('rw')
  }
  await open(disk!.directory).end()
})

test.after(() => disk?.end())
