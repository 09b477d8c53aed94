/** The embedded store: hands each call of the port to the part that does it. */

import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import type { Clock, EpochSeconds, StoredTime } from '../../base/clock.ts'
import { jsonIndexKeys, type KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { View, Viewpoint } from '../../store/policy.ts'
import type { Store, StoreTime } from '../../store/port.ts'
import type { ItemWrite, Step } from '../../store/writing.ts'
import { OpenViews } from '../open-views.ts'
import { SqliteCatalog } from './catalog.ts'
import { WriteConsequences } from './consequences.ts'
import { copyDirectory, copyMemory } from './file/backup.ts'
import { Checkpoints, type RunCheckpoint } from './file/checkpoints.ts'
import { DiskHealth, type ReportDisk } from './file/disk-health.ts'
import { EndMark } from './file/end-mark.ts'
import { dataFile, migrate } from './file/schema.ts'
import { fileSettings } from './file/settings.ts'
import { IndexBuilds } from './index-builds.ts'
import { SqliteChangeLog } from './log.ts'
import { changeCatalog, type StoreParts } from './parts.ts'
import { StoreReads } from './reads.ts'
import type { SortEntries } from './sorted-entries.ts'
import { readTimeRow } from './time-row.ts'
import { Turns } from './turns.ts'
import { Upkeep } from './upkeep.ts'
import { ItemWrites } from './writes.ts'

export interface SqliteOptions {
  /** undefined: in memory. */
  readonly directory: string | undefined
  /** Makes the store's clock, which must not start before the moment that was stored last. */
  readonly clock: (stored: StoredTime) => Clock
  /** Called when the store cannot go on, because the file may have lost acknowledged writes. */
  readonly onFatal: (error: Error) => void
  /** Told once when the disk refuses writes, and once when it takes them again. */
  readonly onDisk?: ReportDisk | undefined
  /** Opens a directory whose damaged WAL has lost acknowledged writes. */
  readonly acceptLostWrites?: boolean | undefined
  /** Sorts index entries in another thread, when an index of many items is built; never in memory. */
  readonly sortEntries?: SortEntries | undefined
  /** Runs a large checkpoint in another thread; never in memory. */
  readonly checkpoint?: RunCheckpoint | undefined
  /** New pages in the WAL after which a checkpoint runs. Tests make it small. */
  readonly checkpointPages?: number | undefined
  /** Makes the index keys of bodies. The default knows JSON bodies only. */
  readonly keysOf?: KeyMaker
}

export class SqliteStore implements Store {
  readonly #directory: string | undefined
  readonly #lock: Disposable | undefined
  readonly #checkpoints: Checkpoints | undefined
  readonly #endMark: EndMark | undefined
  readonly #parts: StoreParts
  readonly #reads: StoreReads
  readonly #writes: ItemWrites
  readonly #indexBuilds: IndexBuilds
  readonly #upkeep: Upkeep

  constructor(
    db: DatabaseSync,
    lock: Disposable | undefined,
    {
      directory,
      clock,
      onFatal,
      onDisk = () => {},
      sortEntries,
      checkpoint,
      checkpointPages,
      keysOf = jsonIndexKeys,
    }: SqliteOptions,
  ) {
    this.#directory = directory
    this.#lock = lock
    db.exec(fileSettings)
    migrate(db)
    const stored = readTimeRow(db)
    const storeClock = clock(stored)
    const log = new SqliteChangeLog(db, storeClock)
    const catalog = new SqliteCatalog(db, log, keysOf)
    this.#checkpoints = Checkpoints.of(db, { directory, runInThread: checkpoint, pages: checkpointPages })
    this.#endMark = directory === undefined ? undefined : new EndMark(directory)
    const disk = directory === undefined ? undefined : new DiskHealth(directory, onDisk)
    const turns = new Turns(db, {
      ...{ disk, clock: storeClock, stored, onFatal },
      ...{ checkpoints: this.#checkpoints, endMark: this.#endMark },
    })
    this.#parts = { db, clock: storeClock, catalog, turns, views: new OpenViews(), log, disk }
    const consequences = new WriteConsequences(this.#parts)
    this.#reads = new StoreReads(this.#parts)
    this.#writes = new ItemWrites(this.#parts, consequences)
    this.#indexBuilds = new IndexBuilds(this.#parts, consequences, sortEntries)
    this.#upkeep = new Upkeep(this.#parts, consequences)
  }

  moment(): EpochSeconds {
    return this.#parts.turns.readMoment()
  }

  time(): StoreTime {
    const { turns, clock } = this.#parts
    const moment = turns.readMoment()
    return { moment, sure: turns.sureAt(moment), doubt: clock.doubt }
  }

  async trustTime() {
    this.#parts.turns.trust()
  }

  returns() {
    return this.#parts.clock.returns
  }

  view(container: ContainerRecord): View {
    const { catalog, views, turns } = this.#parts
    const { policy } = catalog.requireContainer(container).record
    return views.open(container.number, { policy, moment: turns.readMoment() })
  }

  /** A data directory belongs to one process. */
  share() {
    return 1
  }

  databases() {
    return this.#parts.catalog.databases()
  }

  findDatabase(id: string) {
    return this.#parts.catalog.findDatabase(id)
  }

  createDatabase(...[draft]: Parameters<Store['createDatabase']>) {
    return changeCatalog(this.#parts, moment => this.#parts.catalog.createDatabase(draft, moment))
  }

  updateDatabase(...[database, change]: Parameters<Store['updateDatabase']>) {
    return changeCatalog(this.#parts, moment => this.#parts.catalog.updateDatabase(database, change, moment))
  }

  deleteDatabase(...[database, epitaph]: Parameters<Store['deleteDatabase']>) {
    return changeCatalog(this.#parts, moment => this.#parts.catalog.deleteDatabase(database, epitaph, moment))
  }

  containers(...[database]: Parameters<Store['containers']>) {
    return this.#parts.catalog.containers(database)
  }

  findContainer(database: string, id: string) {
    return this.#parts.catalog.findContainer(database, id)
  }

  createContainer(...[database, draft]: Parameters<Store['createContainer']>) {
    return changeCatalog(this.#parts, moment => this.#parts.catalog.createContainer(database, draft, moment))
  }

  updateContainer(...[container, change]: Parameters<Store['updateContainer']>) {
    const { catalog, turns } = this.#parts
    return changeCatalog(this.#parts, moment =>
      catalog.updateContainer(container, change, moment, turns.sureAt(moment)),
    )
  }

  deleteContainer(...[container, epitaph]: Parameters<Store['deleteContainer']>) {
    return changeCatalog(this.#parts, moment => this.#parts.catalog.deleteContainer(container, epitaph, moment))
  }

  createIndex(...[container, index]: Parameters<Store['createIndex']>) {
    return changeCatalog(this.#parts, () => this.#parts.catalog.createIndex(container, index))
  }

  buildIndex(...[container, index, rowsMax]: Parameters<Store['buildIndex']>) {
    return this.#indexBuilds.build(container, index, rowsMax)
  }

  dropIndex(...[container, index]: Parameters<Store['dropIndex']>) {
    return this.#indexBuilds.drop(container, index)
  }

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint) {
    return this.#reads.read(container, key, at)
  }

  readBySequence(...[container, sequence]: Parameters<Store['readBySequence']>) {
    return this.#reads.readBySequence(container, sequence)
  }

  scan(...[container, range, page]: Parameters<Store['scan']>) {
    return this.#reads.scan(container, range, page)
  }

  scanIndex(...[container, range, page]: Parameters<Store['scanIndex']>) {
    return this.#reads.scanIndex(container, range, page)
  }

  countEntries(...[container, range]: Parameters<Store['countEntries']>) {
    return this.#reads.countEntries(container, range)
  }

  listRows(...[container, range, page]: Parameters<Store['listRows']>) {
    return this.#reads.listRows(container, range, page)
  }

  changes(...[container, range, page]: Parameters<Store['changes']>) {
    return this.#reads.changes(container, range, page)
  }

  changesNow(container: ContainerRecord) {
    return String(this.#parts.catalog.requireContainer(container).items.version)
  }

  changesSince(container: ContainerRecord, moment: EpochSeconds) {
    return this.#reads.changesSince(container, moment)
  }

  log(...[container, range, page]: Parameters<Store['log']>) {
    return this.#reads.log(container, range, page)
  }

  logNow() {
    return this.#reads.logNow()
  }

  /** All containers share one log. */
  logSince(_container: ContainerRecord, moment: EpochSeconds) {
    return String(this.#reads.journalSince(moment))
  }

  journal(...[after, page]: Parameters<Store['journal']>) {
    return this.#reads.journal(after, page)
  }

  journalNow() {
    return this.#reads.journalNow()
  }

  journalSince(moment: EpochSeconds) {
    return this.#reads.journalSince(moment)
  }

  journalTick() {
    return this.#parts.log.waiters.tick
  }

  awaitJournal(...[after, wait]: Parameters<Store['awaitJournal']>) {
    return this.#parts.log.waiters.wait(after, wait)
  }

  write(container: ContainerRecord, write: ItemWrite) {
    return this.#writes.write(container, write)
  }

  transact(steps: readonly Step[]) {
    return this.#writes.transact(steps)
  }

  putRows(...[container, rows]: Parameters<Store['putRows']>) {
    return this.#writes.putRows(container, rows)
  }

  sweep(container: ContainerRecord, rowsMax: number) {
    return this.#upkeep.sweep(container, rowsMax)
  }

  reclaim(rowsMax: number) {
    return this.#upkeep.reclaim(rowsMax)
  }

  restamp(...[rowsMax, hasFixedDeadlines]: Parameters<Store['restamp']>) {
    return this.#upkeep.restamp(rowsMax, hasFixedDeadlines)
  }

  async backUp(path: string) {
    if (this.#directory !== undefined) return copyDirectory(this.#directory, path)
    this.#parts.turns.betweenTransactions(() => copyMemory(this.#parts.db, path))
  }

  inspect(container: ContainerRecord, key: ItemKey) {
    return this.#parts.catalog.requireContainer(container).items.readRowWithoutBody(key)
  }

  count(...[container, cohort]: Parameters<Store['count']>) {
    return this.#parts.catalog.requireContainer(container).purge.count(cohort)
  }

  census(container: ContainerRecord) {
    const { items, purge } = this.#parts.catalog.requireContainer(container)
    return { rows: items.rows, version: items.version, writes: items.version, ...purge.earliest() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    const { turns, db, disk } = this.#parts
    turns.close()
    const isWhole = closeFile(db, this.#directory, turns.isStopped)
    this.#endMark?.close(isWhole)
    this.#checkpoints?.[Symbol.dispose]()
    disk?.[Symbol.dispose]()
    this.#lock?.[Symbol.dispose]()
  }
}

/**
 * SQLite runs a checkpoint when the last connection is closed, and removes the WAL. After a failed sync that
 * could lose what the WAL still has. So then a connection that cannot write is closed last. Returns whether
 * everything is in the data file.
 */
function closeFile(db: DatabaseSync, directory: string | undefined, isStopped: boolean): boolean {
  const file = directory === undefined ? undefined : join(directory, dataFile)
  if (isStopped && file !== undefined && existsSync(file)) {
    using last = new DatabaseSync(file, { readOnly: true })
    try {
      last.prepare('PRAGMA schema_version').get()
    } finally {
      db.close()
    }
    return false
  }
  db.close()
  return file !== undefined && !existsSync(`${file}-wal`)
}
