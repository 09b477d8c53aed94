/** The SQLite store on a disk that fails: full, limited, removed, with a damaged page or a damaged WAL. */

import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { test } from 'node:test'
import { withContract } from '../../src/adapters/contract.ts'
import { dataFile } from '../../src/adapters/sqlite/file/schema.ts'
import { pageBytes } from '../../src/adapters/sqlite/file/settings.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { Snapshots } from '../../src/adapters/sqlite/snapshot.ts'
import { ManualClock, machine, toEpochSeconds } from '../../src/base/clock.ts'
import { CapacityError } from '../../src/base/error.ts'
import { sweepRowsMax } from '../../src/base/limits.ts'
import { jsonIndexKeys } from '../../src/document/index-keys.ts'
import { writeMarks } from '../support/end-marks.ts'
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
  assert.throws(() => open(accepted), /acknowledged are lost/)
  await open(accepted, { acceptLostWrites: true }).end()
  const foreign = scratch()
  cpSync(crashed, foreign, { recursive: true })
  writeFileSync(join(foreign, `${dataFile}-wal`), inOtherByteOrder(wal))
  const moved = open(foreign)
  assert.equal((await moved.store.census(await containerIn(moved.store))).rows, 5)
  await moved.end()
  cpSync(crashed, foreign, { recursive: true })
  writeFileSync(join(foreign, `${dataFile}-wal`), inOtherByteOrder(half, wal))
  assert.throws(() => open(foreign), /acknowledged are lost/)
  for (const used of [directory, crashed, accepted, foreign]) rmSync(used, { recursive: true })
})

/** A directory as a crash leaves it, whose mark names the last of five commits. */
async function markedDirectory() {
  const directory = scratch()
  const live = open(directory)
  const container = await makeContainer(live.store, null)
  for (let n = 0; n < 5; n++) await live.store.write(container, itemOf(n))
  writeMarks()
  const crashed = scratch()
  cpSync(directory, crashed, { recursive: true })
  await live.end()
  assert.ok(!existsSync(join(directory, `${dataFile}-mark`)), 'a store that was closed has no mark')
  rmSync(directory, { recursive: true })
  return crashed
}

const frameBytes = pageBytes + 24
/** What may become of a WAL without any trace in it. */
const losses: Readonly<Record<string, (wal: Buffer) => Buffer | undefined>> = {
  'is deleted': () => undefined,
  'is empty': () => Buffer.alloc(0),
  'ends in its header': wal => wal.subarray(0, 20),
  'is cut to half': wal => wal.subarray(0, wal.length / 2),
  'lacks its last frame': wal => wal.subarray(0, wal.length - frameBytes),
  'lacks its last byte': wal => wal.subarray(0, wal.length - 1),
  'has a damaged last frame': wal => {
    const damaged = Buffer.from(wal)
    damaged[wal.length - 100]! ^= 1
    return damaged
  },
}

for (const [what, damage] of Object.entries(losses)) {
  test(`a WAL that ${what} after a crash is refused, and nothing is changed`, async () => {
    const directory = await markedDirectory()
    const walFile = join(directory, `${dataFile}-wal`)
    const damaged = damage(readFileSync(walFile))
    if (damaged === undefined) rmSync(walFile)
    else writeFileSync(walFile, damaged)
    const data = readFileSync(join(directory, dataFile))
    for (let again = 0; again < 2; again++) {
      assert.throws(() => open(directory), /older than its last use: .*acknowledged are lost.*--accept-lost-writes/)
    }
    assert.deepEqual(readFileSync(join(directory, dataFile)), data)
    if (damaged !== undefined) assert.deepEqual(readFileSync(walFile), damaged)
    const accepted = open(directory, { acceptLostWrites: true })
    // Once is enough, also if this server crashes as well.
    const crashed = scratch()
    cpSync(directory, crashed, { recursive: true })
    await accepted.end()
    for (const used of [directory, crashed]) {
      await open(used).end()
      rmSync(used, { recursive: true })
    }
  })
}

test('a new container that was lost with the WAL is missed, too', async () => {
  const directory = scratch()
  const live = open(directory)
  await makeContainer(live.store, null)
  writeMarks()
  const crashed = scratch()
  cpSync(directory, crashed, { recursive: true })
  await live.end()
  rmSync(join(crashed, `${dataFile}-wal`))
  assert.throws(() => open(crashed), /acknowledged are lost/)
  for (const used of [directory, crashed]) rmSync(used, { recursive: true })
})

test('a data file that was removed after a crash is refused, not made anew', async () => {
  const directory = await markedDirectory()
  for (const name of [dataFile, `${dataFile}-wal`, `${dataFile}-shm`]) rmSync(join(directory, name), { force: true })
  assert.throws(() => open(directory), /acknowledged are lost/)
  rmSync(directory, { recursive: true })
})

test('a healthy directory is never refused: after a crash, with an older mark, a torn one or none', async () => {
  const directory = await markedDirectory()
  const markFile = join(directory, `${dataFile}-mark`)
  const mark = readFileSync(markFile)
  if (process.platform !== 'win32') assert.equal(statSync(markFile).mode & 0o777, 0o600)
  const startsWhole = async () => {
    const copy = scratch()
    cpSync(directory, copy, { recursive: true })
    const { store, end } = open(copy)
    assert.equal((await store.census(await containerIn(store))).rows, 5)
    await end()
    rmSync(copy, { recursive: true })
  }
  await startsWhole()
  for (let length = 0; length < mark.length; length++) {
    writeFileSync(markFile, mark.subarray(0, length))
    await startsWhole()
  }
  rmSync(markFile)
  await startsWhole()
  writeFileSync(markFile, mark)
  // Another program moves the WAL into the data file, and removes it.
  {
    using other = new DatabaseSync(join(directory, dataFile))
    other.prepare('SELECT count(*) FROM containers').get()
  }
  assert.ok(!existsSync(join(directory, `${dataFile}-wal`)))
  await startsWhole()
  // The container of the mark may have been deleted since.
  const later = open(directory)
  const container = await containerIn(later.store)
  await later.store.deleteContainer(container, undefined)
  const crashed = scratch()
  cpSync(directory, crashed, { recursive: true })
  await later.end()
  await open(crashed).end()
  for (const used of [directory, crashed]) rmSync(used, { recursive: true })
})

test('frames of an older WAL do not count as damage', async () => {
  const directory = scratch()
  const live = open(directory)
  const container = await makeContainer(live.store, null)
  for (let n = 0; n < 5; n++) await live.store.write(container, itemOf(n))
  const walBytes = statSync(join(directory, `${dataFile}-wal`)).size
  {
    using other = new DatabaseSync(join(directory, dataFile))
    other.exec('PRAGMA wal_checkpoint(PASSIVE)')
  }
  // The WAL begins anew, over the old frames.
  await live.store.write(container, itemOf(5))
  assert.equal(statSync(join(directory, `${dataFile}-wal`)).size, walBytes)
  const crashed = scratch()
  cpSync(directory, crashed, { recursive: true })
  await live.end()
  const { store, end } = open(crashed)
  assert.equal((await store.census(await containerIn(store))).rows, 6)
  await end()
  for (const used of [directory, crashed]) rmSync(used, { recursive: true })
})

/** As a machine with the other byte order writes it: with checksums over big-endian words. */
function inOtherByteOrder(wal: Buffer, sound = wal): Buffer {
  const copy = Buffer.from(wal)
  const words = Buffer.from(sound)
  for (const each of [copy, words]) each.writeUInt32BE(0x377f0683, 0)
  let sums = [0, 0]
  const add = (from: number, to: number) => {
    for (let at = from; at < to; at += 8) {
      sums = [(sums[0]! + words.readUInt32BE(at) + sums[1]!) >>> 0, sums[1]!]
      sums = [sums[0]!, (sums[1]! + words.readUInt32BE(at + 4) + sums[0]!) >>> 0]
    }
  }
  const store = (at: number) => copy.writeUInt32BE(sums[1]!, copy.writeUInt32BE(sums[0]!, at))
  add(0, 24)
  store(24)
  for (let at = 32; at + 24 + pageBytes <= wal.length; at += 24 + pageBytes) {
    add(at, at + 8)
    add(at + 24, at + 24 + pageBytes)
    store(at + 16)
  }
  return copy
}

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
