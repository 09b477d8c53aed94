/** Opens a store in PostgreSQL, which several gateways may share, and puts its parts behind the port. */

import type { Clock, EpochSeconds } from '../../base/clock.ts'
import type { ContainerRecord, IndexRange, ItemKey, ItemWrite, PageSize, ScanRange, Store } from '../port.ts'
import { Catalog } from './catalog.ts'
import { Connections } from './connections.ts'
import { Entries } from './entries.ts'
import { translate } from './errors.ts'
import { Items } from './items.ts'
import { Lanes } from './lanes.ts'
import { Moments } from './moments.ts'
import { Purge } from './purge.ts'
import { forgetGateways, migrate, requireDurability } from './schema.ts'

export interface PostgresOptions {
  /** postgres://user:password@host:port/database */
  readonly url: string
  /** Makes this gateway's clock, which must not start before the moment that was stored last. */
  readonly clock: (highWaterMark: EpochSeconds) => Clock
  /** The store cannot go on: its tables are gone. */
  readonly onFatal: (error: Error) => void
}

export async function openPostgres({ url, clock, onFatal }: PostgresOptions): Promise<Store> {
  const connections = await Connections.open(url)
  try {
    const session = await connections.acquire()
    let mark: EpochSeconds
    try {
      await requireDurability(session)
      await migrate(session)
      await forgetGateways(session)
      const { rows } = await session.query('SELECT now FROM mayfly.clock WHERE one = 1')
      mark = rows[0].now
    } finally {
      session.release()
    }
    return new PostgresStore(connections, new Moments(connections, clock(mark), mark), onFatal)
  } catch (error) {
    await connections[Symbol.asyncDispose]()
    throw translate(error)
  }
}

class PostgresStore implements Store {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #catalog: Catalog
  readonly #items: Items
  readonly #lanes: Lanes
  readonly #entries: Entries
  readonly #purge: Purge

  constructor(connections: Connections, moments: Moments, onFatal: (error: Error) => void) {
    this.#connections = connections
    this.#moments = moments
    this.#catalog = new Catalog(connections, moments)
    this.#items = new Items(connections, moments)
    this.#lanes = new Lanes(connections, moments, onFatal)
    this.#entries = new Entries(connections, moments)
    this.#purge = new Purge(connections, moments)
  }

  moment() {
    return this.#moments.take()
  }

  view(container: ContainerRecord) {
    return this.#items.view(container)
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

  deleteDatabase(...[database]: Parameters<Store['deleteDatabase']>) {
    return this.#catalog.deleteDatabase(database)
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

  deleteContainer(...[container]: Parameters<Store['deleteContainer']>) {
    return this.#catalog.deleteContainer(container)
  }

  read(container: ContainerRecord, key: ItemKey) {
    return this.#items.read(container, key)
  }

  write(container: ContainerRecord, write: ItemWrite) {
    return this.#lanes.write(container, write)
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize) {
    return this.#items.scan(container, range, page)
  }

  scanIndex(container: ContainerRecord, range: IndexRange, page: PageSize) {
    return this.#entries.scan(container, range, page)
  }

  countEntries(...[container, range]: Parameters<Store['countEntries']>) {
    return this.#entries.count(container, range)
  }

  createIndex(...[container, { components, isDeclared }]: Parameters<Store['createIndex']>) {
    return this.#catalog.createIndex(container, components, isDeclared)
  }

  buildIndex(...[container, index, rowsMax]: Parameters<Store['buildIndex']>) {
    return this.#entries.build(container, index, rowsMax)
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
    await this.#lanes[Symbol.asyncDispose]()
    await this.#connections[Symbol.asyncDispose]()
  }
}
