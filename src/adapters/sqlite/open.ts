/** Opens the embedded store, in a directory or in memory, and connects its parts to the port. */

import { join } from 'node:path'
import { DatabaseSync, type StatementSync } from 'node:sqlite'
import { type Clock, type EpochSeconds, machine, type StoredTime } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { sliceRowsMax } from '../../base/limits.ts'
import type { MaybePromise } from '../../base/maybe-promise.ts'
import { jsonIndexKeys, type KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { draftLength } from '../../store/fill.ts'
import type { ItemKey, ScannedItem } from '../../store/item.ts'
import type { Living, View, Viewpoint } from '../../store/policy.ts'
import type { Store, StoreTime } from '../../store/port.ts'
import type {
  ChangeRange,
  ChangesAnswer,
  IndexRange,
  LogAnswer,
  PageSize,
  RowRange,
  ScanAnswer,
  ScanRange,
} from '../../store/reading.ts'
import type { ItemChange, ItemWrite, Step, StepAnswer, TransactAnswer } from '../../store/writing.ts'
import { livingAt } from '../../ttl/living.ts'
import { dropKnown, type IndexFindings, isNothing, noFindings } from '../index-findings.ts'
import { OpenViews } from '../open-views.ts'
import { livingItem } from '../verdict.ts'
import { backUp } from './backup.ts'
import { type OpenContainer, SqliteCatalog } from './catalog.ts'
import { Checkpoints, type RunCheckpoint } from './checkpoints.ts'
import { makeDataDirectory } from './directory.ts'
import { DiskHealth, type ReportDisk } from './disk-health.ts'
import type { DoubtedHolders } from './entries.ts'
import { translate } from './errors.ts'
import { FreePages } from './free-pages.ts'
import type { Consequences, Present, RowSlice, Written } from './items.ts'
import { lockDirectory, lockFile } from './lock.ts'
import { SqliteChangeLog } from './log.ts'
import { changeNumber } from './positions.ts'
import { SqliteRestamping } from './restamp.ts'
import { dataFile, migrate } from './schema.ts'
import { fileSettings } from './settings.ts'
import { SortedBuilds } from './sorted-build.ts'
import type { SortEntries } from './sorted-entries.ts'
import { readTimeRow, Turns } from './turns.ts'
import { refuseLostWrites } from './wal-damage.ts'

export interface SqliteOptions {
  /** undefined: in memory. */
  readonly directory: string | undefined
  /** Makes the store's clock, which must not start before the moment that was stored last. */
  readonly clock: (stored: StoredTime) => Clock
  /** The store cannot go on: what it has acknowledged may be lost from the file. */
  readonly onFatal: (error: Error) => void
  /** Told once when the disk refuses writes, and once when it takes them again. */
  readonly onDisk?: ReportDisk | undefined
  /** Opens a directory whose damaged WAL has lost acknowledged writes. */
  readonly acceptLostWrites?: boolean | undefined
  /** Sorts index entries in another thread, when an index of many items is built; never in memory. */
  readonly sortEntries?: SortEntries | undefined
  /** Runs a large checkpoint in another thread; never in memory. */
  readonly checkpoint?: RunCheckpoint | undefined
  /** Makes the index keys of bodies. The default knows JSON bodies only. */
  readonly keysOf?: KeyMaker
}

export function openSqlite(options: SqliteOptions): Store {
  const { directory } = options
  if (directory === undefined) return new SqliteStore(new DatabaseSync(':memory:'), undefined, options)
  let lock: Disposable | undefined
  try {
    makeDataDirectory(directory, [dataFile, lockFile])
    lock = lockDirectory(directory)
    if (options.acceptLostWrites !== true) refuseLostWrites(directory)
    return new SqliteStore(new DatabaseSync(join(directory, dataFile)), lock, options)
  } catch (error) {
    lock?.[Symbol.dispose]()
    throw translate(error)
  }
}

/** Writes to a container without indexes and log have no consequences. */
const noConsequences: Consequences = { updateEntries: () => true, log: undefined }

/** Room for one item of any size: an empty page accepts its first item whatever its bytes. */
const roomForOne = { itemsMax: 1, bytesMax: 0, isEmpty: true }

function bytesOf(change: ItemChange): number {
  return change.kind === 'delete' ? 0 : draftLength(change.draft)
}

/** With these thresholds nobody is alive. */
const nobody: Living = { inheritedAfter: Number.MAX_SAFE_INTEGER, ownAfter: Number.MAX_SAFE_INTEGER }

/** Then no step has done anything. */
function isFirstRefused({ steps, refusal }: TransactAnswer): boolean {
  return steps.length === (refusal?.error === undefined ? 1 : 0)
}

class SqliteStore implements Store {
  readonly #db: DatabaseSync
  readonly #directory: string | undefined
  readonly #clock: Clock
  readonly #lock: Disposable | undefined
  readonly #catalog: SqliteCatalog
  readonly #turns: Turns
  readonly #views = new OpenViews()
  readonly #sortedBuilds: SortedBuilds | undefined
  readonly #log: SqliteChangeLog
  readonly #freePages: FreePages
  readonly #restamping: SqliteRestamping
  readonly #disk: DiskHealth | undefined
  readonly #savepoint: { begin: StatementSync; undo: StatementSync; end: StatementSync }

  constructor(
    db: DatabaseSync,
    lock: Disposable | undefined,
    { directory, clock, onFatal, onDisk = () => {}, sortEntries, checkpoint, keysOf = jsonIndexKeys }: SqliteOptions,
  ) {
    this.#db = db
    this.#directory = directory
    this.#lock = lock
    db.exec(fileSettings)
    migrate(db)
    const stored = readTimeRow(db)
    this.#sortedBuilds = sortEntries && new SortedBuilds(sortEntries)
    const storeClock = clock(stored)
    this.#clock = storeClock
    this.#log = new SqliteChangeLog(db, storeClock)
    this.#catalog = new SqliteCatalog(db, this.#log, keysOf)
    this.#restamping = new SqliteRestamping(db)
    this.#savepoint = {
      begin: db.prepare('SAVEPOINT transact'),
      undo: db.prepare('ROLLBACK TO transact'),
      end: db.prepare('RELEASE transact'),
    }
    this.#freePages = new FreePages(db)
    const checkpoints = Checkpoints.of(db, checkpoint)
    this.#disk = directory === undefined ? undefined : new DiskHealth(directory, onDisk)
    this.#turns = new Turns(db, { disk: this.#disk, clock: storeClock, stored, checkpoints, onFatal })
  }

  moment(): EpochSeconds {
    return this.#turns.readMoment()
  }

  time(): StoreTime {
    const moment = this.#turns.readMoment()
    return { moment, sure: this.#turns.sureAt(moment), doubt: this.#clock.doubt }
  }

  async trustTime() {
    this.#turns.trust()
  }

  returns() {
    return this.#clock.returns
  }

  view(container: ContainerRecord): View {
    const { policy } = this.#require(container).record
    return this.#views.open(container.number, { policy, moment: this.#turns.readMoment() })
  }

  /** A data directory belongs to one process. */
  share() {
    return 1
  }

  databases() {
    return this.#catalog.databases()
  }

  findDatabase(id: string) {
    return this.#catalog.findDatabase(id)
  }

  createDatabase(...[draft]: Parameters<Store['createDatabase']>) {
    return this.#changeCatalog(moment => this.#catalog.createDatabase(draft, moment))
  }

  updateDatabase(...[database, change]: Parameters<Store['updateDatabase']>) {
    return this.#changeCatalog(moment => this.#catalog.updateDatabase(database, change, moment))
  }

  deleteDatabase(...[database, epitaph]: Parameters<Store['deleteDatabase']>) {
    return this.#changeCatalog(moment => this.#catalog.deleteDatabase(database, epitaph, moment))
  }

  containers(...[database]: Parameters<Store['containers']>) {
    return this.#catalog.containers(database)
  }

  findContainer(database: string, id: string) {
    return this.#catalog.findContainer(database, id)
  }

  createContainer(...[database, draft]: Parameters<Store['createContainer']>) {
    return this.#changeCatalog(moment => this.#catalog.createContainer(database, draft, moment))
  }

  updateContainer(...[container, change]: Parameters<Store['updateContainer']>) {
    return this.#changeCatalog(moment =>
      this.#catalog.updateContainer(container, change, moment, this.#turns.sureAt(moment)),
    )
  }

  deleteContainer(...[container, epitaph]: Parameters<Store['deleteContainer']>) {
    return this.#changeCatalog(moment => this.#catalog.deleteContainer(container, epitaph, moment))
  }

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint) {
    try {
      const { record, items } = this.#require(container)
      const { moment, policy } = this.#judgedBy(record, at)
      return { moment, policy, version: items.version, item: items.read(key, livingAt(policy, moment)) }
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  readBySequence(container: ContainerRecord, sequence: number) {
    try {
      const { record, items } = this.#require(container)
      const { moment, policy } = this.#judgedBy(record, undefined)
      // The next living row; it is the wanted one only if its number matches.
      const [item] = items.rowsBehind(sequence - 1, livingAt(policy, moment), roomForOne, 1).items
      return { moment, policy, version: items.version, item: item?.sequence === sequence ? item : undefined }
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  write(container: ContainerRecord, write: ItemWrite) {
    return this.#turns.write(
      moment => {
        const open = this.#require(container)
        const { policy } = open.record
        return { moment, policy, ...this.#writeBlindly(open, livingAt(policy, moment), write.key, write, moment) }
      },
      { bytes: bytesOf(write) },
    )
  }

  transact(steps: readonly Step[]): Promise<TransactAnswer> {
    const bytes = steps.reduce((sum, step) => sum + (step.bytes ?? 0), 0)
    const work = (moment: EpochSeconds, mustUndoAlone: boolean) => {
      // A single step needs no savepoint: if it is refused, it has done nothing.
      if (steps.length === 1) return this.#runSteps(steps, moment)
      const undo = mustUndoAlone ? this.#setSavepoint(steps) : () => this.#turns.undo()
      let hasEnded = false
      try {
        const answer = this.#runSteps(steps, moment)
        hasEnded = answer.refusal === undefined || isFirstRefused(answer)
        return answer
      } finally {
        if (!hasEnded) undo()
        if (mustUndoAlone) this.#savepoint.end.run()
      }
    }
    return this.#turns.write(work, { steps: steps.length, bytes })
  }

  /** Returns a function that rolls back to this point. */
  #setSavepoint(steps: readonly Step[]): () => void {
    const containers = new Set(steps.map(({ container }) => this.#require(container)))
    const counters = [...containers].map(({ items }) => items.savepoint())
    this.#savepoint.begin.run()
    return () => {
      this.#savepoint.undo.run()
      for (const restore of counters) restore()
    }
  }

  /** Runs the steps until one is refused. */
  #runSteps(steps: readonly Step[], moment: EpochSeconds): TransactAnswer {
    const answers: StepAnswer[] = []
    let version = 0
    for (const { container, key, decide, isBlind } of steps) {
      const open = this.#require(container)
      const { items } = open
      const living = livingAt(open.record.policy, moment)
      const row = isBlind === true ? undefined : items.readRow(key)
      const found = livingItem(living, row)
      version = items.pendingVersion
      let change: ItemChange | undefined
      try {
        change = decide(found, moment)
      } catch (error) {
        if (!(error instanceof RequestError)) throw error
        return { moment, version, steps: answers, refusal: { error } }
      }
      if (change === undefined) {
        answers.push(found === undefined ? { outcome: 'missing' } : { outcome: 'found', item: found })
        continue
      }
      const {
        outcome,
        item,
        version: made,
      } = isBlind === true
        ? this.#writeBlindly(open, living, key, change, moment)
        : this.#write(open, living, key, row, change, moment)
      version = made
      answers.push(item === undefined ? { outcome } : { outcome, item })
      if (item === undefined && outcome !== 'deleted') {
        return { moment, version, steps: answers, refusal: { error: undefined } }
      }
    }
    return { moment, version, steps: answers }
  }

  /** Writes without having read the row at the key. Must run inside the writer's transaction. */
  #writeBlindly(open: OpenContainer, living: Living, key: ItemKey, change: ItemChange, moment: EpochSeconds): Written {
    const { items, record } = open
    const isIndexed = record.indexes.length > 0
    if (change.kind === 'create' && !isIndexed && record.logSeconds === null) {
      this.#turns.join(items)
      this.#turns.wrote(bytesOf(change))
      const created = items.createIfFree(key, change, moment)
      if (created !== undefined) return created
    }
    // The index keys of the replaced item are made from its body, so the body is read along with the row.
    const present = isIndexed && change.kind !== 'create' ? items.readRow(key) : items.readRowWithoutBody(key)
    return this.#write(open, living, key, present, change, moment)
  }

  /** Must run inside the writer's transaction. */
  #write(
    open: OpenContainer,
    living: Living,
    key: ItemKey,
    present: Present | undefined,
    change: ItemChange,
    moment: EpochSeconds,
  ) {
    this.#turns.join(open.items)
    this.#turns.wrote(bytesOf(change))
    return this.#withConsequences(open, living, consequences =>
      open.items.write(key, present, change, living, moment, consequences),
    )
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<ScanAnswer> {
    try {
      const { record, items } = this.#require(container)
      const { moment, policy } = this.#judgedBy(record, range.at)
      const slice = items.scan(range, livingAt(policy, moment), page, sliceRowsMax)
      if (slice.isFull || slice.last === undefined) {
        return { moment, policy, version: items.version, items: slice.items, last: slice.last }
      }
      return this.#scanOn(container, range, page, { moment, policy, slice })
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize) {
    try {
      const { record, items, entries } = this.#require(container)
      const { moment, policy } = this.#judgedBy(record, range.within.at)
      const { items: found, last } = entries.scan(range, livingAt(policy, moment), page, sliceRowsMax, record.indexes)
      return { moment, policy, version: items.version, items: found, last }
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  countEntries(...[container, range]: Parameters<Store['countEntries']>) {
    try {
      return this.#require(container).entries.count(range)
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  changes(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): MaybePromise<ChangesAnswer> {
    try {
      const { record, items, changes } = this.#require(container)
      const { moment, policy } = this.#judgedBy(record, within.at)
      const { version } = items
      const from = changeNumber(after)
      const found = changes.read(within, from, livingAt(policy, moment), page, sliceRowsMax)
      const position = String(found.last ?? Math.max(from, version))
      return { moment, policy, version, items: found.items, position, isEnd: found.last === undefined }
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  changesNow(container: ContainerRecord) {
    return String(this.#require(container).items.version)
  }

  changesSince(container: ContainerRecord, moment: EpochSeconds) {
    const { items, changes } = this.#require(container)
    this.#turns.beginRead()
    return String(changes.lastBefore(moment, items.version))
  }

  log(container: ContainerRecord, range: ChangeRange, page: PageSize): LogAnswer {
    try {
      const { record, items } = this.#require(container)
      const { policy, number, logSeconds } = record
      const moment = this.#turns.beginRead()
      if (logSeconds === null) throw new RequestError('malformed', `The container ${record.id} keeps no log.`)
      return { moment, policy, version: items.version, ...this.#log.read(number, range, page, moment - logSeconds) }
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  logNow() {
    this.#turns.beginRead()
    return String(this.#log.newest())
  }

  journal(after: number, page: PageSize) {
    try {
      const moment = this.#turns.beginRead()
      return this.#log.journal(after, page, moment, number => this.#catalog.recordOf(number))
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  journalNow() {
    const ts = this.#turns.beginRead()
    return { tick: this.#log.newest(), ts }
  }

  journalSince(moment: EpochSeconds) {
    this.#turns.beginRead()
    return this.#log.lastBefore(moment)
  }

  journalTick() {
    return this.#log.waiters.tick
  }

  awaitJournal(...[after, wait]: Parameters<Store['awaitJournal']>) {
    return this.#log.waiters.wait(after, wait)
  }

  createIndex(...[container, index]: Parameters<Store['createIndex']>) {
    return this.#changeCatalog(() => this.#catalog.createIndex(container, index))
  }

  /** From a sorted range where there is one, otherwise item by item. */
  async buildIndex(...[container, index, rowsMax]: Parameters<Store['buildIndex']>): Promise<boolean> {
    const present = this.#catalog.openContainer(container)
    const untilSorted =
      present && this.#sortedBuilds?.prepare(present, index, () => this.#catalog.builtTo(container, index))
    if (untilSorted !== undefined) {
      await untilSorted
      // Nothing is inserted yet.
      return false
    }
    let settle: (() => void) | undefined
    const isReady = await this.#changeCatalog(() =>
      this.#catalog.buildIndex(container, index, (open, definition, builtTo) => {
        const findings = noFindings()
        const { entries } = open
        const step = this.#sortedBuilds?.rangeOf(open.record.number, definition)?.step(entries, findings)
        const reached = step === undefined ? entries.build(definition, builtTo, rowsMax, findings) : step.reached
        this.#note(open, findings)
        settle = step?.settle
        return reached
      }),
    )
    settle?.()
    if (isReady) this.#sortedBuilds?.end(container.number, index)
    return isReady
  }

  dropIndex(...[container, index]: Parameters<Store['dropIndex']>) {
    this.#sortedBuilds?.end(container.number, index)
    return this.#changeCatalog(() => this.#catalog.dropIndex(container, index))
  }

  sweep(container: ContainerRecord, rowsMax: number) {
    return this.#turns.write(
      moment => {
        const open = this.#require(container)
        const { record, items, purge } = open
        const sure = this.#turns.sureAt(moment)
        const living = this.#views.holdBack(record.number, livingAt(record.policy, sure))
        let deaths = 0
        const swept = this.#withConsequences(open, living, consequences => {
          if (consequences === noConsequences) return purge.sweep(living, rowsMax, undefined)
          return purge.sweep(living, rowsMax, ({ key, sequence, version: before, body }) => {
            if (consequences.log !== undefined) {
              const version = items.pendingVersion + ++deaths
              const previous = { version: before, body }
              consequences.log({ kind: 'expire', key, sequence, version, ts: moment, body: undefined, previous })
            }
            consequences.updateEntries({ sequence, pk: key.pk, before: () => body, after: undefined })
          })
        })
        // A sweep that finds nothing writes nothing.
        if (swept.removed > 0) {
          this.#turns.join(items)
          items.countSwept(swept.removed, deaths)
        }
        const entries = this.#log.removeOld(record.number, sure - (record.logSeconds ?? 0), rowsMax)
        return { ...swept, done: swept.done && entries < rowsMax }
      },
      { freesRoom: true },
    )
  }

  backUp(path: string) {
    return backUp(this.#db, this.#directory, path)
  }

  async reclaim(rowsMax: number) {
    const isLeft = await this.#turns.write(
      moment =>
        this.#catalog.reclaim(rowsMax, this.#turns.sureAt(moment)) || this.#freePages.step(this.#disk?.isFull === true),
      { freesRoom: true },
    )
    if (isLeft || this.#disk?.prepare() === true) return true
    this.#turns.cutQuietLog()
    return false
  }

  restamp(...[rowsMax, hasFixedDeadlines]: Parameters<Store['restamp']>) {
    // Asked once a second, and most of the time there is nothing.
    this.#turns.readMoment()
    if (this.#turns.ahead === null) return Promise.resolve(false)
    return this.#turns.write(moment => {
      const { ahead } = this.#turns
      // While the time is in doubt again, it is not known what lies in the future.
      if (ahead === null || this.#clock.doubt?.kind === 'step') return false
      const isLeft = this.#restamping.step(this.#catalog.openContainers(), {
        ahead,
        moment,
        rowsMax,
        hasFixedDeadlines,
      })
      if (!isLeft) this.#turns.forgetAhead()
      return isLeft
    })
  }

  inspect(container: ContainerRecord, key: ItemKey) {
    return this.#require(container).items.readRowWithoutBody(key)
  }

  putRows(container: ContainerRecord, rows: readonly ScannedItem[]): Promise<void> {
    return this.#turns.write(() => {
      const open = this.#require(container)
      const { indexes } = open.record
      this.#turns.join(open.items)
      const findings = noFindings()
      for (const row of rows) {
        open.items.putBack(row)
        const change = { sequence: row.sequence, pk: row.key.pk, before: undefined, after: row.body }
        // Unique keys were checked when the rows were written.
        if (indexes.length > 0) open.entries.change(indexes, change, nobody, findings)
      }
      this.#note(open, findings)
    })
  }

  listRows(container: ContainerRecord, range: RowRange, page: PageSize) {
    try {
      this.#turns.beginRead()
      return this.#require(container).items.list(range, page)
    } catch (error) {
      throw this.#turns.readFailed(error)
    }
  }

  count(...[container, cohort]: Parameters<Store['count']>) {
    return this.#require(container).purge.count(cohort)
  }

  census(container: ContainerRecord) {
    const { items, purge } = this.#require(container)
    return { rows: items.rows, version: items.version, writes: items.version, ...purge.earliest() }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#turns.close()
    this.#db.close()
    this.#disk?.[Symbol.dispose]()
    this.#lock?.[Symbol.dispose]()
  }

  #changeCatalog<T>(work: (moment: EpochSeconds) => T): Promise<T> {
    return this.#turns.write(moment => {
      this.#turns.join(this.#catalog)
      // The change may leave a note.
      this.#turns.join(this.#log)
      return work(moment)
    })
  }

  /** Runs a write with its consequences, and stores what was learned about the indexes. */
  #withConsequences<T>(open: OpenContainer, living: Living, work: (consequences: Consequences) => T): T {
    const { indexes, logSeconds, number } = open.record
    if (indexes.length === 0 && logSeconds === null) return work(noConsequences)
    const findings = noFindings()
    const doubted = this.#turns.isInDoubt ? this.#doubtedHolders(open) : undefined
    const result = work({
      updateEntries: change => indexes.length === 0 || open.entries.change(indexes, change, living, findings, doubted),
      log: logSeconds === null ? undefined : entry => this.#log.append(number, entry),
    })
    if (logSeconds !== null) this.#turns.join(this.#log)
    this.#note(open, findings)
    return result
  }

  /** Those that are dead only by a time in doubt. */
  #doubtedHolders({ record }: OpenContainer): DoubtedHolders {
    const sure = this.#clock.sure()
    return { sure, living: livingAt(record.policy, sure) }
  }

  /** Stores what the index records do not say yet. */
  #note(open: OpenContainer, findings: IndexFindings): void {
    dropKnown(findings, open.record.indexes)
    if (isNothing(findings)) return
    this.#turns.join(this.#catalog)
    this.#catalog.note(open, findings)
  }

  /** Joins the reads of this turn. Items are judged by the given viewpoint, or by now. */
  #judgedBy({ policy }: ContainerRecord, at: Viewpoint | undefined): Viewpoint {
    const moment = this.#turns.beginRead()
    return at ?? { moment, policy }
  }

  #require(container: ContainerRecord): OpenContainer {
    const open = this.#catalog.openContainer(container)
    if (open === undefined) {
      throw new RequestError('namespace_not_found', `The container ${container.id} does not exist any more.`)
    }
    return open
  }

  /**
   * Continues a page that met many dead rows. It reads in slices, at its one moment, and lets the event loop
   * turn between two of them.
   */
  async #scanOn(
    container: ContainerRecord,
    range: ScanRange,
    page: PageSize,
    begun: Viewpoint & { slice: RowSlice },
  ): Promise<ScanAnswer> {
    const { moment, policy } = begun
    using _view = this.#views.open(container.number, { moment, policy })
    const living = livingAt(policy, moment)
    const { items } = begun.slice
    let { last, bytes, isFull } = begun.slice
    while (last !== undefined && !isFull) {
      await new Promise<void>(resolve => machine.setImmediate(resolve))
      this.#turns.beginRead()
      const rest = { itemsMax: page.itemsMax - items.length, bytesMax: page.bytesMax - bytes }
      const slice = this.#require(container).items.scan({ ...range, after: last }, living, rest, sliceRowsMax)
      items.push(...slice.items)
      bytes += slice.bytes
      ;({ last, isFull } = slice)
    }
    return { moment, policy, version: this.#require(container).items.version, items, last }
  }
}
