/** An engine with a container, and queries over it page by page, for tests that need no socket. */

import assert from 'node:assert/strict'
import type { Worker } from 'node:worker_threads'
import { withContract } from '../../src/adapters/contract.ts'
import { openSqlite } from '../../src/adapters/sqlite/open.ts'
import { ManualClock, toEpochSeconds } from '../../src/base/clock.ts'
import { indexBuildRowsMax, pageBytesMax } from '../../src/base/limits.ts'
import { silentLog } from '../../src/base/log.ts'
import { textOf } from '../../src/document/body.ts'
import {
  type EffectivePartitionKeyRange,
  effectivePartitionKeyPrefixRange,
  partitionRanges,
} from '../../src/document/effective-partition-key.ts'
import type { IndexComponent } from '../../src/document/index-definition.ts'
import { canonicalPartitionKey, type PartitionKeyComponent } from '../../src/document/partition-key.ts'
import { Engine } from '../../src/engine/engine.ts'
import { itemKey } from '../../src/engine/item-key.ts'
import { type QueriedPage, runQueryPage } from '../../src/engine/query.ts'
import type { PagePosition } from '../../src/query/execute.ts'
import type { PageRunner, RemotePageTask } from '../../src/query/page-task.ts'
import type { ThreadData } from '../../src/server/query-thread/query-messages.ts'
import { QueryThreads } from '../../src/server/query-thread/query-threads.ts'
import { demandsOf } from '../../src/sql/planning/demands.ts'
import { type PreparedQuery, prepareQuery } from '../../src/sql/prepare.ts'
import { createProgram } from '../../src/sql/program.ts'
import { runQueryOver } from '../../src/sql/run.ts'
import type { SqlValue } from '../../src/sql/values/value.ts'
import type { ContainerRecord } from '../../src/store/catalog.ts'
import type { Store } from '../../src/store/port.ts'
import type { ScanRange } from '../../src/store/reading.ts'

export const start = 1_000_000

export interface Item {
  readonly id: string
  readonly pk: PartitionKeyComponent
  readonly ttl?: number
  readonly [name: string]: unknown
}

export type Components = readonly IndexComponent[]

export interface QueryOptions {
  readonly parameters?: ReadonlyMap<string, SqlValue>
  readonly range?: ScanRange
  readonly rowsMax?: number
  readonly bytesMax?: number
  /** The record that the caller knows, which may be old. */
  readonly container?: ContainerRecord
}

/** One container with everything a query needs. Sweeps and index builds happen only when a test asks. */
export class QueryWorld implements AsyncDisposable {
  readonly clock: ManualClock
  readonly engine: Engine
  /** The store under the engine. */
  readonly store: Store
  /** Only present on disk. */
  readonly thread: QueryThreads | undefined
  /** Makes the pages; without it they are made in this thread. */
  runner: PageRunner | undefined
  /** Pages that another thread made. */
  remotePages = 0

  private constructor(engine: Engine, store: Store, clock: ManualClock, thread: QueryThreads | undefined) {
    this.engine = engine
    this.store = store
    this.clock = clock
    this.thread = thread
    this.runner = thread
  }

  static async make({
    partitions = 1,
    defaultTtl = null,
    directory,
    startWorker,
  }: {
    partitions?: number
    defaultTtl?: number | null
    /** Data is on disk, and the query thread makes every page that it can. */
    directory?: string
    startWorker?: (data: ThreadData) => Worker
  } = {}): Promise<QueryWorld> {
    const clock = new ManualClock(toEpochSeconds(start))
    const thread =
      directory === undefined
        ? undefined
        : new QueryThreads(directory, silentLog, startWorker && { start: startWorker })
    const store = withContract(
      openSqlite({
        directory,
        clock: () => clock,
        sortEntries: thread?.sortEntries,
        onFatal: error => {
          throw error
        },
      }),
    )
    const engine = new Engine({
      store,
      rateLimit: false,
      partitions,
      log: silentLog,
      declaredIndexes: () => [],
      pageRunner: thread,
    })
    engine.purger.isPaused = true
    await engine.catalog.createContainer((await engine.catalog.createDatabase('d', null))!, {
      id: 'c',
      partitionKey: { paths: ['/pk'], kind: 'Hash', version: 2 },
      definition: {},
      throughput: null,
      defaultTtl,
    })
    return new QueryWorld(engine, store, clock, thread)
  }

  /** The current record, because indexes change. */
  async container(): Promise<ContainerRecord> {
    return (await this.engine.catalog.findContainer('d', 'c')) ?? assert.fail('the container is gone')
  }

  /** The physical partitions. */
  async ranges(): Promise<EffectivePartitionKeyRange[]> {
    const { partitionKey, partitionCount } = await this.container()
    return partitionRanges(partitionKey, partitionCount)
  }

  /** The range of one partition key. */
  async partition(pk: PartitionKeyComponent): Promise<ScanRange> {
    const { partitionKey } = await this.container()
    return { ...effectivePartitionKeyPrefixRange(partitionKey, [pk]), pk: canonicalPartitionKey([pk]) }
  }

  async put(...items: readonly Item[]): Promise<void> {
    const container = await this.container()
    const put = async (item: Item) => {
      const { outcome } = await this.engine.writeItem(
        container,
        {
          kind: 'upsert',
          key: itemKey(container, [item.pk], item.id),
          draft: { texts: [JSON.stringify(item)], stamps: [] },
          ttl: item.ttl,
        },
        0,
      )
      assert.ok(outcome === 'created' || outcome === 'replaced', outcome)
    }
    await Promise.all(items.map(put))
  }

  async delete({ id, pk }: Pick<Item, 'id' | 'pk'>): Promise<void> {
    const container = await this.container()
    const write = { kind: 'delete', key: itemKey(container, [pk], id) } as const
    assert.equal((await this.engine.writeItem(container, write, 0)).outcome, 'deleted')
  }

  async sweep(rowsMax = 1000): Promise<number> {
    return (await this.store.sweep(await this.container(), rowsMax)).removed
  }

  /** Creates an index and builds it completely. */
  async index(components: Components): Promise<number> {
    const number = await this.beginIndex(components)
    while (!(await this.buildStep(number, indexBuildRowsMax))) {}
    return number
  }

  async beginIndex(components: Components): Promise<number> {
    const record = await this.store.createIndex(await this.container(), { components, isDeclared: false })
    return record!.indexes.at(-1)!.definition.number
  }

  async buildStep(number: number, rowsMax: number): Promise<boolean> {
    return this.store.buildIndex(await this.container(), number, rowsMax)
  }

  /** Writes a third of the items before the indexes exist, a third during the build, the rest afterwards. */
  async fill(items: readonly Item[], indexes: readonly Components[]): Promise<void> {
    const third = Math.ceil(items.length / 3)
    await this.put(...items.slice(0, third))
    const begun: number[] = []
    for (const components of indexes) begun.push(await this.beginIndex(components))
    await this.put(...items.slice(third, 2 * third))
    for (const number of begun) while (!(await this.buildStep(number, 5))) {}
    await this.put(...items.slice(2 * third))
  }

  async dropIndex(number: number): Promise<void> {
    await this.store.dropIndex(await this.container(), number)
  }

  /** One page. The position goes through JSON, as in a continuation token. */
  async page(
    query: string | PreparedQuery,
    position: PagePosition | undefined,
    options: QueryOptions = {},
  ): Promise<QueriedPage> {
    const { parameters = new Map(), range = everything, rowsMax = 1000, bytesMax = pageBytesMax } = options
    const prepared = typeof query === 'string' ? prepareQuery(query) : query
    const { store } = this
    const { indexes: keeper } = this.engine
    const runner = this.runner && { run: (task: RemotePageTask) => this.#runRemotely(task) }
    return runQueryPage(
      { store, keeper, runner, isLong: () => true },
      options.container ?? (await this.container()),
      {
        range,
        demands: demandsOf(prepared.query, parameters),
        program: moment => createProgram(prepared, { parameters, momentMs: moment * 1000 }),
        statement: () => ({ language: 'sql', text: prepared.text, parameters }),
        mayIndex: () => true,
      },
      {
        position: position === undefined ? undefined : JSON.parse(JSON.stringify(position)),
        ...{ rowsMax, bytesMax, keepsOrigins: true },
      },
    )
  }

  #runRemotely(task: RemotePageTask) {
    this.remotePages++
    return this.runner!.run(task)
  }

  /** The pages of a query, one after another; the caller may change things between two of them. */
  async *pages(query: string | PreparedQuery, options?: QueryOptions): AsyncGenerator<QueriedPage> {
    const prepared = typeof query === 'string' ? prepareQuery(query) : query
    let position: PagePosition | undefined
    do {
      const page: QueriedPage = await this.page(prepared, position, options)
      yield page
      position = page.next
    } while (position !== undefined)
  }

  async query(query: string | PreparedQuery, options?: QueryOptions): Promise<SqlValue[]> {
    const rows: SqlValue[] = []
    for await (const page of this.pages(query, options)) for (const row of page.rows) rows.push(JSON.parse(textOf(row)))
    return rows
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.thread?.[Symbol.asyncDispose]()
    await this.engine[Symbol.asyncDispose]()
  }
}

export const everything: ScanRange = { min: '', maxExclusive: 'FF' }

/** The result over these items by the reference executor, which knows no store, pages or indexes. */
export function reference(
  query: string | PreparedQuery,
  items: readonly SqlValue[],
  { parameters = new Map() }: { parameters?: ReadonlyMap<string, SqlValue> } = {},
): SqlValue[] {
  const prepared = typeof query === 'string' ? prepareQuery(query) : query
  // Through JSON, as a client sees it: undefined is gone, and -0 is 0.
  return JSON.parse(JSON.stringify(runQueryOver(prepared, { parameters, momentMs: start * 1000 }, items)))
}

export function ascending(...path: string[]): IndexComponent {
  return { path, isDescending: false }
}

export function descending(...path: string[]): IndexComponent {
  return { path, isDescending: true }
}
