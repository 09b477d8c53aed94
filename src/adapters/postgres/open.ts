/** Opens a store in PostgreSQL, which several gateways may share, and connects its parts to the port. */

import { randomUUID } from 'node:crypto'
import type { Clock, EpochSeconds, StoredTime } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { jsonIndexKeys, type KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { ItemKey } from '../../store/item.ts'
import type { Viewpoint } from '../../store/policy.ts'
import type { Store } from '../../store/port.ts'
import type { ChangeRange, IndexRange, PageSize, RowRange, ScanRange } from '../../store/reading.ts'
import type { ItemWrite, Step } from '../../store/writing.ts'
import { PostgresCatalog } from './catalog/catalog.ts'
import { CatalogCopy } from './catalog/catalog-copy.ts'
import { isDistributed } from './connection/citus.ts'
import { Connections, type OnCondition } from './connection/connections.ts'
import { type ClockRow, Moments, readClockRow } from './connection/moments.ts'
import { requireUsable, whyNot } from './connection/unusable.ts'
import { IndexBuild } from './index-build.ts'
import { Purge } from './purge.ts'
import { Changes } from './reading/changes.ts'
import { Entries } from './reading/entries.ts'
import { Items } from './reading/items.ts'
import { PostgresJournal } from './reading/journal.ts'
import { PostgresChangeLog } from './reading/log.ts'
import { RowLists } from './reading/row-lists.ts'
import { PostgresViews } from './reading/views.ts'
import { PostgresRestamping } from './restamp.ts'
import { forgetGateways, isHalfMoved, migrate } from './sql/schema.ts'
import { CallNumbers } from './writing/call-numbers.ts'
import { GroupWriter } from './writing/group-writer.ts'
import { Transactions } from './writing/transactions.ts'
import { WriteQueues } from './writing/write-queues.ts'

export interface PostgresOptions {
  /** postgres://user:password@host:port/database */
  readonly url: string
  /** Makes this gateway's clock, which must not start before the moment that was stored last. */
  readonly clock: (stored: StoredTime) => Clock
  /** Called when the store cannot go on, because its tables are gone. */
  readonly onFatal: (error: Error) => void
  readonly onCondition?: OnCondition | undefined
  /** Called with a function that counts the connections. */
  readonly onOpened?: ((countConnections: () => Readonly<Record<string, number>>) => void) | undefined
  /** Makes the index keys of bodies. The default knows JSON bodies only. */
  readonly keysOf?: KeyMaker
}

export async function openPostgres(options: PostgresOptions): Promise<Store> {
  const connections = await Connections.open(options.url, options.onCondition)
  try {
    const session = await connections.acquire()
    let row: ClockRow
    let isCluster: boolean
    let newest: number
    try {
      await requireUsable(session)
      if (await isHalfMoved(session)) {
        const sentence = 'Data is being moved into this database. Finish that first: mayfly migrate.'
        throw new RequestError('unsupported', sentence)
      }
      await migrate(session)
      await forgetGateways(session)
      isCluster = await isDistributed(session)
      row = await readClockRow(session)
      newest = (await session.query('SELECT last_value AS tick FROM mayfly.log_ticks')).rows[0].tick
    } finally {
      session.release()
    }
    options.onOpened?.(() => connections.counts)
    return new PostgresStore(connections, { isCluster, row, newest }, options)
  } catch (error) {
    await connections[Symbol.asyncDispose]()
    throw whyNot(error, options.url)
  }
}

function storedTime({ moment, sure, doubt, since }: ClockRow): StoredTime {
  return sure === null ? { mark: moment } : { mark: moment, sure, doubt: { kind: doubt!, since: since! } }
}

class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #views: PostgresViews
  readonly #copy: CatalogCopy
  readonly #catalog: PostgresCatalog
  readonly #items: Items
  readonly #rowLists: RowLists
  readonly #writes: WriteQueues
  readonly #changes: Changes
  readonly #log: PostgresChangeLog
  readonly #journal: PostgresJournal
  readonly #entries: Entries
  readonly #indexBuild: IndexBuild
  readonly #purge: Purge
  readonly #restamping: PostgresRestamping

  constructor(
    connections: Connections,
    found: { isCluster: boolean; row: ClockRow; newest: number },
    options: PostgresOptions,
  ) {
    const { isCluster, row, newest } = found
    const { clock, onFatal, keysOf = jsonIndexKeys } = options
    const gateway = randomUUID()
    const moments = new Moments(connections, clock(storedTime(row)), row)
    const copy = new CatalogCopy(connections, gateway)
    const journal = new PostgresJournal({ connections, copy, moments, newest })
    const catalog = new PostgresCatalog({ connections, moments, copy, gateway, onNote: tick => journal.saw(tick) })
    this.#journal = journal
    this.#connections = connections
    this.#moments = moments
    this.#copy = copy
    this.#catalog = catalog
    const views = new PostgresViews(connections, moments)
    this.#views = views
    this.#items = new Items({ connections, moments, views, isCluster })
    this.#rowLists = new RowLists(connections, isCluster)
    const callNumbers = new CallNumbers(gateway)
    const writing = { connections, catalog, moments, keysOf, callNumbers, journal, isCluster }
    const groups = new GroupWriter(writing)
    const transactions = new Transactions(writing)
    this.#writes = new WriteQueues({ connections, groups, transactions, isCluster, onFatal })
    this.#changes = new Changes(connections, views)
    this.#log = new PostgresChangeLog(connections, views)
    this.#entries = new Entries(connections, views)
    this.#indexBuild = new IndexBuild({ connections, copy, keysOf })
    this.#purge = new Purge({ connections, moments, views, isCluster })
    this.#restamping = new PostgresRestamping({ connections, moments, catalog, keysOf })
  }

  moment() {
    return this.#moments.take()
  }

  time() {
    return this.#moments.time()
  }

  trustTime() {
    return this.#moments.trust()
  }

  returns() {
    return this.#moments.returns
  }

  view(container: ContainerRecord) {
    return this.#views.take(container)
  }

  /** Gateways get equal shares. One that comes or goes is noticed at the next check of the catalog. */
  share() {
    return 1 / this.#copy.gateways
  }

  databases() {
    return this.#catalog.databases()
  }

  findDatabase(id: string) {
    return this.#catalog.findDatabase(id)
  }

  createDatabase(...[draft]: Parameters<Store['createDatabase']>) {
    return this.#catalog.createDatabase(draft)
  }

  updateDatabase(...[database, change]: Parameters<Store['updateDatabase']>) {
    return this.#catalog.updateDatabase(database, change)
  }

  deleteDatabase(...[database, epitaph]: Parameters<Store['deleteDatabase']>) {
    return this.#catalog.deleteDatabase(database, epitaph)
  }

  containers(...[database]: Parameters<Store['containers']>) {
    return this.#catalog.containers(database)
  }

  findContainer(database: string, id: string) {
    return this.#catalog.findContainer(database, id)
  }

  createContainer(...[database, draft]: Parameters<Store['createContainer']>) {
    return this.#catalog.createContainer(database, draft)
  }

  updateContainer(...[container, change]: Parameters<Store['updateContainer']>) {
    return this.#catalog.updateContainer(container, change)
  }

  deleteContainer(...[container, epitaph]: Parameters<Store['deleteContainer']>) {
    return this.#catalog.deleteContainer(container, epitaph)
  }

  read(container: ContainerRecord, key: ItemKey, at?: Viewpoint) {
    return this.#items.read(container, key, at)
  }

  readBySequence(container: ContainerRecord, sequence: number) {
    return this.#items.readBySequence(container, sequence)
  }

  write(container: ContainerRecord, write: ItemWrite) {
    return this.#writes.write(container, write)
  }

  transact(steps: readonly Step[]) {
    return this.#writes.transact(steps)
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize) {
    return this.#items.scan(container, range, page)
  }

  changes(container: ContainerRecord, range: ChangeRange, page: PageSize) {
    return this.#changes.read(container, range, page)
  }

  changesNow(container: ContainerRecord) {
    return this.#changes.now(container)
  }

  changesSince(container: ContainerRecord, moment: EpochSeconds) {
    return this.#changes.since(container, moment)
  }

  log(container: ContainerRecord, range: ChangeRange, page: PageSize) {
    return this.#log.read(container, range, page)
  }

  /** Log entries are numbered by versions, so the log ends where the change order ends. */
  logNow(container: ContainerRecord) {
    return this.#changes.now(container)
  }

  logSince(container: ContainerRecord, moment: EpochSeconds) {
    return this.#changes.since(container, moment)
  }

  journal(after: number, page: PageSize) {
    return this.#journal.read(after, page)
  }

  journalNow() {
    return this.#journal.now()
  }

  journalSince(moment: EpochSeconds) {
    return this.#journal.since(moment)
  }

  journalTick() {
    return this.#journal.tick
  }

  awaitJournal(...[after, wait]: Parameters<Store['awaitJournal']>) {
    return this.#journal.wait(after, wait)
  }

  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize) {
    return this.#entries.scan(container, range, page)
  }

  countEntries(...[container, range]: Parameters<Store['countEntries']>) {
    return this.#entries.count(container, range)
  }

  createIndex(...[container, index]: Parameters<Store['createIndex']>) {
    return this.#catalog.createIndex(container, index)
  }

  buildIndex(...[container, index, rowsMax]: Parameters<Store['buildIndex']>) {
    return this.#indexBuild.build(container, index, rowsMax)
  }

  dropIndex(...[container, index]: Parameters<Store['dropIndex']>) {
    return this.#catalog.dropIndex(container, index)
  }

  sweep(container: ContainerRecord, rowsMax: number) {
    return this.#purge.sweep(container, rowsMax)
  }

  reclaim(rowsMax: number) {
    return this.#purge.reclaim(rowsMax)
  }

  restamp(...[rowsMax, hasFixedDeadlines]: Parameters<Store['restamp']>) {
    return this.#restamping.step(rowsMax, hasFixedDeadlines)
  }

  async putRows(): Promise<never> {
    throw new RequestError(
      'unsupported',
      'Snapshots need the embedded store: with PostgreSQL, use a template database.',
    )
  }

  listRows(container: ContainerRecord, range: RowRange, page: PageSize) {
    return this.#rowLists.read(container, range, page)
  }

  inspect(container: ContainerRecord, key: ItemKey) {
    return this.#items.inspect(container, key)
  }

  count(...[container, cohort]: Parameters<Store['count']>) {
    return this.#purge.count(container, cohort)
  }

  census(container: ContainerRecord) {
    return this.#purge.census(container)
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#journal.close()
    await this.#writes[Symbol.asyncDispose]()
    // If this fails, the others will notice by themselves.
    await this.#copy.signOff().catch(() => {})
    await this.#connections[Symbol.asyncDispose]()
  }
}
