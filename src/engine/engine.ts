/**
 * What the database can do, whatever the protocol: items and feeds with their charges, definitions, life and
 * death.
 *
 * An edge turns bytes into these calls and these answers into bytes. Everything that is counted, paid for or
 * refused is counted, paid for or refused here; whether an item is alive is decided below, in the store, at
 * its moment.
 */

import { RequestError } from '../base/error.ts'
import { newResourceNumber } from '../base/identifier.ts'
import { IdleWatch } from '../base/idle.ts'
import { partitionsMax, throughputDefault } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import type { Encoding } from '../document/body.ts'
import type { PageRunner } from '../query/page-task.ts'
import type { ContainerChange, ContainerDraft, ContainerRecord, DatabaseRecord, Throughput } from '../store/catalog.ts'
import type { ItemKey, StoredItem } from '../store/item.ts'
import type { Store } from '../store/port.ts'
import type { ChangeRange, ChangesAnswer, LogAnswer, PageSize, ScanRange } from '../store/reading.ts'
import type { ItemWrite, Step, TransactAnswer } from '../store/writing.ts'
import { changeDefault, newPolicy } from '../ttl/lifespan.ts'
import { Purger } from '../ttl/purger.ts'
import { type TtlStatus, ttlStatus } from '../ttl/report.ts'
import { deleteRu, pageRu, readRu, writeRu } from '../units/cost.ts'
import { Ledger, ruPerSecond } from '../units/ledger.ts'
import { IndexKeeper, type IndexKeeperOptions } from './index-keeper.ts'
import { type ItemQuery, type QueriedPage, type QueryPageRequest, queryPage } from './query.ts'
import { isSurelyLong } from './where-to-run.ts'

/** One physical partition serves at most this much (the service's documented limit). */
const partitionThroughputMax = 10_000

export interface EngineOptions {
  readonly store: Store
  readonly rateLimit: boolean
  /** Physical partitions of new containers; undefined: by throughput. */
  readonly partitions: number | undefined
  readonly log: Logger
  readonly declaredIndexes: IndexKeeperOptions['declaredIndexes']
  /** Makes long pages of queries elsewhere, when that is possible. */
  readonly pageRunner?: PageRunner | undefined
}

/** What came of an operation on an item, and what it cost. */
export interface ItemResult {
  readonly item: StoredItem
  readonly chargeRu: number
  /** The newest version in the container: what a session has seen. */
  readonly version: number
}

export interface WriteResult {
  readonly item: StoredItem | undefined
  readonly isNew: boolean
  readonly chargeRu: number
  readonly version: number
}

export interface PageResult {
  readonly items: readonly StoredItem[]
  readonly last: ItemKey | undefined
  readonly chargeRu: number
  readonly version: number
}

export type QueryResult = QueriedPage & { readonly chargeRu: number }

export type ContainerStatus = TtlStatus & { readonly purged: number; readonly paused: boolean }

export class Engine implements AsyncDisposable {
  readonly store: Store
  readonly ledger: Ledger
  readonly purger: Purger
  readonly indexes: IndexKeeper
  readonly #partitions: number | undefined
  readonly #pageRunner: PageRunner | undefined
  #operations = 0

  constructor({ store, rateLimit, partitions, log, declaredIndexes, pageRunner }: EngineOptions) {
    this.store = store
    this.ledger = new Ledger({ isEnforced: rateLimit, share: () => store.share() })
    this.#partitions = partitions
    this.#pageRunner = pageRunner
    const idle = new IdleWatch(() => this.#operations)
    this.purger = new Purger({ store, ledger: this.ledger, idle, log })
    this.indexes = new IndexKeeper({ store, idle, log, declaredIndexes })
  }

  /** Items read, written and listed since the start. */
  get operations(): number {
    return this.#operations
  }

  readItem(container: ContainerRecord, key: ItemKey): MaybePromise<ItemResult> {
    this.#operations++
    return andThen(this.store.read(container, key), ({ item, version }) => {
      if (item === undefined) {
        this.ledger.charge(container, readRu(0))
        throw charged(new RequestError('not_found', entityNotFound), readRu(0))
      }
      const chargeRu = readRu(item.body.length)
      this.ledger.charge(container, chargeRu)
      return { item, chargeRu, version }
    })
  }

  /** `bytes` is the size of what the client sent; the charge is taken before anything is touched. */
  async writeItem(container: ContainerRecord, write: ItemWrite, bytes: number): Promise<WriteResult> {
    this.#operations++
    const chargeRu = write.kind === 'delete' ? deleteRu : writeRu(bytes)
    this.ledger.charge(container, chargeRu)
    const { outcome, item, version } = await this.store.write(container, write)
    switch (outcome) {
      case 'exists':
        throw charged(new RequestError('already_exists', entityExists), chargeRu)
      case 'missing':
        throw charged(new RequestError('not_found', entityNotFound), chargeRu)
      case 'changed':
        throw charged(new RequestError('precondition_failed', conditionNotMet), chargeRu)
      case 'conflict':
        throw charged(new RequestError('already_exists', uniqueKeyTaken), chargeRu)
      default:
        return { item, isNew: outcome === 'created', chargeRu, version }
    }
  }

  /** All steps or none; the charge is taken before anything is touched. */
  async transact(payer: ContainerRecord, steps: readonly Step[], chargeRu: number): Promise<TransactAnswer> {
    this.#operations += steps.length
    this.ledger.charge(payer, chargeRu)
    return this.store.transact(steps)
  }

  /** Living items in the order of their last change. */
  readChanges(
    container: ContainerRecord,
    range: ChangeRange,
    page: PageSize,
  ): MaybePromise<ChangesAnswer & { readonly chargeRu: number }> {
    this.#operations++
    return andThen(this.store.changes(container, range, page), answer => {
      const bytes = answer.items.reduce((sum, { body }) => sum + body.length, 0)
      return { ...answer, chargeRu: this.#chargePage(container, answer.items.length, bytes) }
    })
  }

  /** Everything that happened to the items of a container that keeps a log. */
  readLog(
    container: ContainerRecord,
    range: ChangeRange,
    page: PageSize,
  ): MaybePromise<LogAnswer & { readonly chargeRu: number }> {
    this.#operations++
    return andThen(this.store.log(container, range, page), answer => {
      const bytes = answer.entries.reduce((sum, { body }) => sum + (body?.length ?? 0), 0)
      return { ...answer, chargeRu: this.#chargePage(container, answer.entries.length, bytes) }
    })
  }

  #chargePage(container: ContainerRecord, rows: number, bytes: number): number {
    const chargeRu = pageRu(rows, bytes)
    this.ledger.charge(container, chargeRu)
    return chargeRu
  }

  readPage(container: ContainerRecord, range: ScanRange, page: PageSize): MaybePromise<PageResult> {
    this.#operations++
    return andThen(this.store.scan(container, range, page), ({ items, last, version }) => {
      const bytes = items.reduce((sum, { body }) => sum + body.length, 0)
      return { items, last, chargeRu: this.#chargePage(container, items.length, bytes), version }
    })
  }

  /** One page of a query, from wherever its items are found fastest. */
  async queryPage(container: ContainerRecord, query: ItemQuery, page: QueryPageRequest): Promise<QueryResult> {
    this.#operations++
    const parts = { store: this.store, keeper: this.indexes, runner: this.#pageRunner, isLong: isSurelyLong }
    const result = await queryPage(parts, container, query, page)
    const { itemsRead, bytesOut } = result.statistics
    return { ...result, chargeRu: this.#chargePage(container, itemsRead, bytesOut) }
  }

  /** All databases but the one that Mayfly keeps for itself. */
  databases(): MaybePromise<readonly DatabaseRecord[]> {
    return andThen(this.store.databases(), all => all.filter(({ id }) => id !== systemDatabase))
  }

  requireDatabase(id: string): MaybePromise<DatabaseRecord> {
    return andThen(this.store.findDatabase(id), database => database ?? notFound('not_found'))
  }

  /** Of something inside: its owner is missing, which clients tell apart from the thing itself. */
  requireOwner(database: string): MaybePromise<DatabaseRecord> {
    return andThen(this.store.findDatabase(database), found => found ?? notFound('namespace_not_found'))
  }

  /** A container of another API is none, unless any will do: its items are written in another language. */
  requireContainer(database: string, id: string, encoding: Encoding | 'any' = 'json'): MaybePromise<ContainerRecord> {
    return andThen(this.store.findContainer(database, id), found =>
      found !== undefined && (encoding === 'any' || found.encoding === encoding)
        ? found
        : notFound('namespace_not_found'),
    )
  }

  /**
   * A container of Mayfly's own, made when it is first needed: what an API must remember beside its items,
   * with a life of its own. No API can name it.
   */
  async systemContainer(id: string, defaultTtl: number | null): Promise<ContainerRecord> {
    const found = await this.store.findContainer(systemDatabase, id)
    if (found !== undefined) return found
    const draft = { id: systemDatabase, throughput: null, rid: newResourceNumber() }
    await this.store.createDatabase(draft)
    const database = await this.store.findDatabase(systemDatabase)
    const made = await this.store.createContainer(database!, {
      id,
      partitionKey: { paths: ['/owner'], kind: 'Hash', version: 2 },
      definition: {},
      throughput: null,
      rid: newResourceNumber(),
      partitionCount: 1,
      encoding: 'json',
      policy: newPolicy(defaultTtl),
      logSeconds: null,
    })
    return made ?? (await this.store.findContainer(systemDatabase, id))!
  }

  async createDatabase(id: string, throughput: Throughput | null): Promise<DatabaseRecord> {
    const database = await this.store.createDatabase({ id, throughput, rid: newResourceNumber() })
    return database ?? alreadyExists()
  }

  async deleteDatabase(database: DatabaseRecord): Promise<void> {
    if (!(await this.store.deleteDatabase(database))) notFound('not_found')
  }

  /** A container that nobody provisions shares its database's throughput, or gets the service's minimum. */
  async createContainer(
    database: DatabaseRecord,
    draft: Pick<ContainerDraft, 'id' | 'partitionKey' | 'definition' | 'throughput' | 'declaredIndexes'> &
      Partial<Pick<ContainerDraft, 'encoding' | 'logSeconds'>> & { readonly defaultTtl: number | null },
  ): Promise<ContainerRecord> {
    const {
      id,
      partitionKey,
      definition,
      defaultTtl,
      encoding = 'json',
      logSeconds = null,
      declaredIndexes = [],
    } = draft
    const shared = database.throughput === null ? defaultThroughput : null
    const throughput = draft.throughput ?? shared
    const container = await this.store.createContainer(database, {
      id,
      partitionKey,
      definition,
      throughput,
      rid: newResourceNumber(),
      partitionCount: this.#partitions ?? partitionsFor(throughput),
      encoding,
      policy: newPolicy(defaultTtl),
      logSeconds,
      declaredIndexes,
    })
    return container ?? alreadyExists()
  }

  /**
   * The definition is made from the present one inside the transaction, so that two changes cannot overwrite
   * each other.
   */
  async changeContainer(
    container: ContainerRecord,
    change: (current: ContainerRecord) => {
      definition: unknown
      defaultTtl: number | null
      logSeconds?: number | null
    },
  ): Promise<ContainerRecord> {
    const changed = await this.store.updateContainer(container, (current, moment): ContainerChange => {
      const { definition, defaultTtl, logSeconds = current.logSeconds } = change(current)
      const isSame = defaultTtl === current.policy.defaultTtl
      const policy = isSame ? current.policy : changeDefault(current.policy, defaultTtl, moment)
      return { definition, policy, logSeconds }
    })
    return changed ?? notFound('not_found')
  }

  async changeThroughput(owner: DatabaseRecord | ContainerRecord, throughput: Throughput): Promise<void> {
    const changed =
      'database' in owner
        ? await this.store.updateContainer(owner, () => ({ throughput }))
        : await this.store.updateDatabase(owner, () => ({ throughput }))
    if (changed === undefined) notFound('not_found')
  }

  async deleteContainer(container: ContainerRecord): Promise<void> {
    if (!(await this.store.deleteContainer(container))) notFound('not_found')
  }

  async ttlStatus(container: ContainerRecord): Promise<ContainerStatus> {
    const status = await ttlStatus(this.store, container)
    return { ...status, purged: this.purger.purged(container), paused: this.purger.isPaused }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.purger[Symbol.asyncDispose]()
    await this.indexes[Symbol.asyncDispose]()
    await this.store[Symbol.asyncDispose]()
  }
}

/** A name that is valid in neither API. */
const systemDatabase = 'mayfly/system'

const defaultThroughput: Throughput = { kind: 'manual', ruPerSecond: throughputDefault }

const entityExists = 'Entity with the specified id already exists in the system.'
const uniqueKeyTaken = 'Unique index constraint violation.'
const conditionNotMet = 'One of the specified pre-condition is not met.'
const entityNotFound = 'Entity with the specified id does not exist in the system.'

function charged(error: RequestError, chargeRu: number): RequestError {
  error.chargeRu = chargeRu
  return error
}

function notFound(kind: 'not_found' | 'namespace_not_found'): never {
  throw new RequestError(kind, kind === 'not_found' ? entityNotFound : 'Owner resource does not exist')
}

function alreadyExists(): never {
  throw new RequestError('already_exists', 'Resource with specified id, name, or unique index already exists.')
}

function partitionsFor(throughput: Throughput | null): number {
  const rate = ruPerSecond(throughput) ?? 0
  return Math.min(partitionsMax, Math.max(1, Math.ceil(rate / partitionThroughputMax)))
}
