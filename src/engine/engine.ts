/**
 * All operations of the database, independent of the protocol; the only way to the store.
 *
 * An edge turns bytes into these calls, and the results into bytes. Counting, charging and throttling happen
 * here. The store decides whether an item is alive, at the moment of the call. A call returns an outcome;
 * each edge turns it into its protocol's words.
 *
 * This file has items, changes and queries, with their charges. `catalog` has databases and containers,
 * `systemItems` has what Mayfly stores for itself, and `reports` has the reports on a container.
 */

import type { EpochSeconds } from '../base/clock.ts'
import { assert, RequestError } from '../base/error.ts'
import { IdleWatch } from '../base/idle.ts'
import type { Logger } from '../base/log.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Body } from '../document/body.ts'
import type { Page } from '../query/execute.ts'
import type { HostedTask, StreamHost } from '../query/hosted-stream.ts'
import { inOrderOfCreation } from '../query/order-of-creation.ts'
import type { CollectedRows } from '../query/packed-rows.ts'
import type { PageRunner } from '../query/page-task.ts'
import type { QueryStatement } from '../query/statement.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../store/item.ts'
import type { View } from '../store/policy.ts'
import type { Store, StoreTime } from '../store/port.ts'
import type {
  ChangePosition,
  ChangeRange,
  ChangesAnswer,
  JournalAnswer,
  JournalPlace,
  JournalWait,
  LogAnswer,
  PageSize,
  ScanRange,
} from '../store/reading.ts'
import type { ItemWrite, Step, TransactAnswer, WriteAnswer } from '../store/writing.ts'
import { Purger, type PurgerOptions } from '../ttl/purger.ts'
import { deleteRu, pageRu, readRu, writeRu } from '../units/cost.ts'
import { Ledger } from '../units/ledger.ts'
import type { UsageRecord } from '../units/usage.ts'
import { Catalog } from './catalog.ts'
import { IndexKeeper, type IndexKeeperOptions } from './index-keeper.ts'
import {
  type LifeCursor,
  type LifePage,
  type LifePageSize,
  type LifeRange,
  type ListedItem,
  listLives,
  lookAtItem,
} from './item-lives.ts'
import type { ItemQuery } from './item-query.ts'
import { OneAtATime } from './one-at-a-time.ts'
import {
  type CollectRequest,
  collectElsewhere,
  type ExplainedQuery,
  evaluateElsewhere,
  explainQuery,
  type QueriedPage,
  type QueryPageRequest,
  type QueryParts,
  runPageOver,
  runQueryPage,
  type ShownItems,
} from './query.ts'
import { Reports } from './reports.ts'
import { SlowQueries } from './slow-queries.ts'
import { KeptStates } from './snapshots.ts'
import { SystemItems } from './system-items.ts'
import { Uncharged } from './uncharged.ts'
import { isSurelyLong } from './where-to-run.ts'

export interface EngineOptions {
  readonly store: Store
  readonly rateLimit: boolean
  /** Physical partitions of new containers; undefined means by throughput. */
  readonly partitions: number | undefined
  readonly log: Logger
  readonly declaredIndexes: IndexKeeperOptions['declaredIndexes']
  /** Makes long pages of queries in another thread, if that is possible. */
  readonly pageRunner?: PageRunner | undefined
  readonly hasFixedDeadlines?: PurgerOptions['hasFixedDeadlines']
  /** Pages of queries that take longer are logged. */
  readonly slowQueryMs?: number
}

/** The result of a point read, and its charge. */
export interface ItemResult {
  readonly item: StoredItem | undefined
  readonly chargeRu: number
  /** The newest version in the container, for the session token. */
  readonly version: number
}

export interface WriteResult {
  readonly outcome: WriteAnswer['outcome']
  readonly item: StoredItem | undefined
  readonly chargeRu: number
  readonly version: number
}

export interface PageResult {
  readonly items: readonly StoredItem[]
  readonly last: ItemKey | undefined
  /** The size of all items. */
  readonly bytes: number
  readonly chargeRu: number
  readonly version: number
}

export type QueryResult = QueriedPage & { readonly chargeRu: number }

export class Engine implements AsyncDisposable {
  readonly catalog: Catalog
  readonly systemItems: SystemItems
  readonly uncharged: Uncharged
  readonly reports: Reports
  readonly snapshots: KeptStates
  readonly indexes: IndexKeeper
  readonly purger: Purger
  readonly #store: Store
  readonly #backUps = new OneAtATime()
  readonly #ledger: Ledger
  readonly #pageRunner: PageRunner | undefined
  readonly #slowQueries: SlowQueries
  /** Items read, written and listed since the start. */
  #operations = 0

  constructor(options: EngineOptions) {
    const { store, rateLimit, partitions, log, declaredIndexes, pageRunner, hasFixedDeadlines } = options
    this.#slowQueries = new SlowQueries(log, options.slowQueryMs ?? Number.POSITIVE_INFINITY)
    this.#store = store
    this.#ledger = new Ledger({ isEnforced: rateLimit, share: () => store.share() })
    this.#pageRunner = pageRunner
    const idle = new IdleWatch(() => this.#operations)
    this.catalog = new Catalog(store, partitions)
    this.systemItems = new SystemItems(store)
    this.uncharged = new Uncharged(store)
    this.purger = new Purger({ store, ledger: this.#ledger, idle, log, hasFixedDeadlines })
    this.indexes = new IndexKeeper({ store, idle, log, declaredIndexes })
    this.reports = new Reports(store, this.purger)
    this.snapshots = new KeptStates(store)
  }

  /** What requests and the purger used, second by second. */
  get usage(): UsageRecord {
    return this.#ledger.usage
  }

  /** What is provisioned for a container, in RU per second. */
  rateOf(container: ContainerRecord): number {
    return this.#ledger.rateOf(container)
  }

  /** Whether requests beyond a container's throughput are refused. */
  get isRateLimited(): boolean {
    return this.#ledger.isEnforced
  }

  /** The current moment of item time. */
  moment(): MaybePromise<EpochSeconds> {
    return this.#store.moment()
  }

  time(): MaybePromise<StoreTime> {
    return this.#store.time()
  }

  trustTime(): Promise<void> {
    return this.#store.trustTime()
  }

  /** Takes a moment with the policy at that moment, for reads that belong together. */
  view(container: ContainerRecord): MaybePromise<View> {
    return this.#store.view(container)
  }

  findItem(container: ContainerRecord, key: ItemKey): MaybePromise<ItemResult> {
    this.#operations++
    return andThen(this.#store.read(container, key), ({ item, version }) => {
      const chargeRu = readRu(item === undefined ? 0 : item.body.length)
      this.#ledger.charge(container, chargeRu)
      return { item, chargeRu, version }
    })
  }

  /**
   * Finds the living item with this sequence number. Not charged, because it only finds the item that a
   * request names.
   */
  findBySequence(container: ContainerRecord, sequence: number): MaybePromise<ScannedItem | undefined> {
    return andThen(this.#store.readBySequence(container, sequence), ({ item }) => item)
  }

  /** `bytes` is the size of the client's body. The charge is taken before the write. */
  async writeItem(container: ContainerRecord, write: ItemWrite, bytes: number): Promise<WriteResult> {
    this.#operations++
    const chargeRu = write.kind === 'delete' ? deleteRu : writeRu(bytes)
    this.#ledger.charge(container, chargeRu)
    const { outcome, item, version } = await this.#store.write(container, write)
    return { outcome, item, chargeRu, version }
  }

  /** All steps or none. The charge is taken before the writes. */
  async transact(payer: ContainerRecord, steps: readonly Step[], chargeRu: number): Promise<TransactAnswer> {
    this.#operations += steps.length
    this.#ledger.charge(payer, chargeRu)
    return this.#store.transact(steps)
  }

  /** Takes a charge for reads that were not charged. */
  charge(container: ContainerRecord, chargeRu: number): void {
    this.#ledger.charge(container, chargeRu)
  }

  /** Living items in the order of their last change. */
  readChanges(
    container: ContainerRecord,
    range: ChangeRange,
    page: PageSize,
  ): MaybePromise<ChangesAnswer & { readonly chargeRu: number }> {
    this.#operations++
    return andThen(this.#store.changes(container, range, page), answer => {
      const bytes = answer.items.reduce((sum, { body }) => sum + body.length, 0)
      return { ...answer, chargeRu: this.chargePage(container, answer.items.length, bytes) }
    })
  }

  /** The position after all changes so far. */
  changesNow(container: ContainerRecord): MaybePromise<ChangePosition> {
    return this.#store.changesNow(container)
  }

  /** A position before all changes made at the moment or later; some earlier ones may follow it too. */
  changesSince(container: ContainerRecord, moment: EpochSeconds): MaybePromise<ChangePosition> {
    return this.#store.changesSince(container, moment)
  }

  /** All changes in a container that keeps a log, with deletes and deaths. */
  readLog(
    container: ContainerRecord,
    range: ChangeRange,
    page: PageSize,
  ): MaybePromise<LogAnswer & { readonly chargeRu: number }> {
    this.#operations++
    return andThen(this.#store.log(container, range, page), answer => {
      const bytes = answer.entries.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
      return { ...answer, chargeRu: this.chargePage(container, answer.entries.length, bytes) }
    })
  }

  /** The position at the end of the log. */
  logNow(container: ContainerRecord): MaybePromise<ChangePosition> {
    return this.#store.logNow(container)
  }

  /** A position before all entries of the moment or later; some earlier ones may follow it too. */
  logSince(container: ContainerRecord, moment: EpochSeconds): MaybePromise<ChangePosition> {
    return this.#store.logSince(container, moment)
  }

  /**
   * The logs of all collections as one. Not charged here: the caller charges for the entries that it shows
   * (`chargePage`).
   */
  readJournal(after: number, page: PageSize): MaybePromise<JournalAnswer> {
    this.#operations++
    return this.#store.journal(after, page)
  }

  /** The place at the end of the journal. */
  journalNow(): MaybePromise<JournalPlace> {
    return this.#store.journalNow()
  }

  /** The tick before all entries of this second. */
  journalSince(moment: EpochSeconds): MaybePromise<number> {
    return this.#store.journalSince(moment)
  }

  /** The highest tick that this process knows of. */
  journalTick(): number {
    return this.#store.journalTick()
  }

  /** True when there are entries after the tick; false when the time is over, or the wait was ended. */
  awaitJournal(after: number, wait: JournalWait): Promise<boolean> {
    return this.#store.awaitJournal(after, wait)
  }

  /**
   * Reads one item more than the page holds, so that a page has a continuation only if another item follows.
   * Items that fit on one page come in the order of their creation, otherwise in key order.
   */
  readPage(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<PageResult> {
    this.#operations++
    const { itemsMax, bytesMax } = page
    return andThen(this.#store.scan(container, range, { itemsMax: itemsMax + 1, bytesMax }), answer => {
      const isMore = answer.items.length > itemsMax
      const found = isMore ? answer.items.slice(0, itemsMax) : answer.items
      const last = isMore ? found.at(-1)!.key : answer.last
      const isAll = range.after === undefined && last === undefined
      const sequences = isAll ? found.map(({ sequence }) => sequence) : []
      const items = isAll ? inOrderOfCreation(found, sequences) : found
      const bytes = items.reduce((sum, { body }) => sum + body.length, 0)
      return { items, last, bytes, chargeRu: this.chargePage(container, items.length, bytes), version: answer.version }
    })
  }

  /** Living items in key order, also if they all fit on one page. */
  readKeyOrder(
    container: ContainerRecord,
    range: ScanRange,
    page: PageSize,
  ): MaybePromise<Pick<PageResult, 'last' | 'chargeRu'> & { readonly items: readonly ScannedItem[] }> {
    this.#operations++
    return andThen(this.#store.scan(container, range, page), ({ items, last }) => {
      const bytes = items.reduce((sum, { body }) => sum + body.length, 0)
      return { items, last, chargeRu: this.chargePage(container, items.length, bytes) }
    })
  }

  /** Items in the order of their deaths or creations, including dead ones. For the explorer. */
  async listLives(
    container: ContainerRecord,
    range: LifeRange,
    cursor: LifeCursor,
    size: LifePageSize,
  ): Promise<LifePage & { readonly chargeRu: number }> {
    this.#operations++
    const page = await listLives(this.#store, container, range, cursor, size)
    return { ...page, chargeRu: this.chargePage(container, page.examined, page.bytes) }
  }

  /** One row, alive or dead. For the explorer. */
  async lookAt(
    container: ContainerRecord,
    key: ItemKey,
  ): Promise<(ListedItem & { readonly chargeRu: number }) | undefined> {
    this.#operations++
    const item = await lookAtItem(this.#store, container, key)
    const chargeRu = readRu(item?.body.length ?? 0)
    this.#ledger.charge(container, chargeRu)
    return item && { ...item, chargeRu }
  }

  /** One page of a query. */
  async queryPage(container: ContainerRecord, query: ItemQuery, page: QueryPageRequest): Promise<QueryResult> {
    this.#operations++
    return this.#slowQueries.watchPage(container, query, async () => {
      const result = await runQueryPage(this.#queryParts, container, query, page)
      const { itemsRead, bytesOut } = result.statistics
      return { ...result, chargeRu: this.chargePage(container, itemsRead, bytesOut) }
    })
  }

  /** One page of a query over items that are not as in the store, such as in a transaction. Not charged. */
  queryShown(items: ShownItems, page: QueryPageRequest): Promise<Page> {
    assert(this.#pageRunner !== undefined, 'there is no thread for long work')
    return runPageOver(this.#pageRunner, items, page)
  }

  /** The rows that a statement makes of these documents, computed in another thread. Nothing is read. */
  async evaluate(
    statement: QueryStatement,
    bodies: readonly Body[],
    signal: AbortSignal | undefined,
  ): Promise<readonly Body[]> {
    assert(this.#pageRunner !== undefined, 'there is no thread for long work')
    return evaluateElsewhere(this.#pageRunner, { statement, bodies, moment: await this.#store.moment(), signal })
  }

  /** Whether a thread can hold pipelines. */
  get canHost(): boolean {
    return this.#pageRunner?.hold !== undefined
  }

  /** Resolves when the last result of the pipeline was taken. */
  holdPipeline(task: HostedTask, host: StreamHost, signal: AbortSignal): Promise<void> {
    const runner = this.#pageRunner
    assert(runner?.hold !== undefined, 'there is no thread that could hold a pipeline')
    return this.#slowQueries.watchPipeline(task, host, watching => runner.hold!(task, watching, signal))
  }

  /** Whether long work can be done elsewhere, so that it is worth asking. */
  get hasPageRunner(): boolean {
    return this.#pageRunner !== undefined
  }

  /** Rows that exist only after the last item was read. Undefined if the caller should collect them. */
  async collectRows(
    container: ContainerRecord,
    query: ItemQuery,
    request: CollectRequest,
  ): Promise<(CollectedRows & { readonly chargeRu: number }) | undefined> {
    this.#operations++
    return this.#slowQueries.watchPage(container, query, async () => {
      const collected = await collectElsewhere(this.#queryParts, container, query, request)
      if (collected === undefined) return undefined
      const { itemsRead, bytesOut } = collected.statistics
      return { ...collected, chargeRu: this.chargePage(container, itemsRead, bytesOut) }
    })
  }

  /** What an index or the order of ids does for a query. */
  explainQuery(container: ContainerRecord, query: ItemQuery): ExplainedQuery {
    return explainQuery(container, query)
  }

  get #queryParts(): QueryParts {
    return { store: this.#store, keeper: this.indexes, runner: this.#pageRunner, isLong: isSurelyLong }
  }

  /** Charges for a page that was read without a charge. */
  chargePage(container: ContainerRecord, rows: number, bytes: number): number {
    const chargeRu = pageRu(rows, bytes)
    this.#ledger.charge(container, chargeRu)
    return chargeRu
  }

  /** Copies everything into a new file, as of one moment. One copy is made at a time. */
  async backUp(path: string): Promise<void> {
    if (this.#store.backUp !== undefined) return this.#backUps.do(() => this.#store.backUp!(path))
    throw new RequestError(
      'unsupported',
      'The data is in PostgreSQL, which has its own tools for backups: pg_dump --format=custom --schema=mayfly ' +
        '--file=FILE URL shows one moment, and pg_restore --dbname=URL FILE restores it into an empty database.',
    )
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.purger[Symbol.asyncDispose]()
    await this.indexes[Symbol.asyncDispose]()
    await this.#store[Symbol.asyncDispose]()
  }
}
