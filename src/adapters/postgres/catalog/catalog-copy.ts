/**
 * A gateway's copy of the catalog, and how long it may be trusted.
 *
 * A gateway that finds its copy up to date may trust it for a short time: a lease. A gateway that changes
 * the catalog waits for that time before it answers. So when a change is answered, no gateway uses the old
 * state any more, and finding a container costs no round trip. With NOTIFY most copies were still old at the
 * moment of the answer: a container that another gateway deleted and created again would be served under its
 * old keys. Only durations are measured; no two clocks are compared.
 *
 * A gateway that is alone does not wait. So each gateway signs on before it takes a lease, and again from
 * time to time.
 *
 * The policies in the copy are for descriptions only. Items are judged by the policy that their statement
 * reads.
 */

import { machine } from '../../../base/clock.ts'
import type { MaybePromise } from '../../../base/maybe-promise.ts'
import type { ContainerRecord, DatabaseRecord, IndexRecord } from '../../../store/catalog.ts'
import { type ContainerRow, type IndexRow, toContainer, toDatabase, toIndex } from '../../catalog-rows.ts'
import { type Connections, snapshot } from '../connection/connections.ts'
import { indexText } from '../rows/records.ts'
import { isPresentSql, postgresSignOnMs } from '../sql/schema.ts'

/** How long a gateway trusts its copy. With several gateways, catalog changes take that much longer. */
const postgresLeaseMs = 50

export interface KnownIndexes {
  /** Counts their changes. */
  readonly version: number
  readonly indexes: readonly IndexRecord[]
}

export interface CatalogContents {
  readonly version: number
  readonly databases: ReadonlyMap<string, DatabaseRecord>
  /** By the number of the database, then by id. */
  readonly containers: ReadonlyMap<number, ReadonlyMap<string, ContainerRecord>>
  /** By the number of the container. */
  readonly indexes: ReadonlyMap<number, KnownIndexes>
}

const versionStatement = {
  name: 'catalog',
  text: `SELECT version, (SELECT count(*)::int FROM mayfly.gateways WHERE ${isPresentSql}) AS gateways
    FROM mayfly.catalog WHERE one = 1`,
}

const signOnStatement = {
  name: 'sign_on',
  text: `INSERT INTO mayfly.gateways (id, seen) VALUES ($1, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET seen = excluded.seen`,
}

const othersStatement = {
  name: 'others',
  text: `SELECT count(*)::int AS others FROM mayfly.gateways WHERE id <> $1 AND ${isPresentSql}`,
}

const noIndexesKnown: KnownIndexes = { version: -1, indexes: [] }

export class CatalogCopy {
  readonly #connections: Connections
  readonly #gateway: string
  #contents: CatalogContents = { version: -1, databases: new Map(), containers: new Map(), indexes: new Map() }
  /** Records by the text of their rows: a record that did not change stays the same object. */
  #records = new Map<string, DatabaseRecord | ContainerRecord>()
  #check: Promise<CatalogContents> | undefined
  #leaseEndMs = Number.NEGATIVE_INFINITY
  /** Answers to checks that were sent before this time are old, whenever they arrive. */
  #changedMs = Number.NEGATIVE_INFINITY
  #signOnMs = Number.NEGATIVE_INFINITY
  #gateways = 1

  constructor(connections: Connections, gateway: string) {
    this.#connections = connections
    this.#gateway = gateway
  }

  /** The catalog as it was at some moment during the call. */
  present(): MaybePromise<CatalogContents> {
    if (machine.monotonicMs() < this.#leaseEndMs) return this.#contents
    // All who ask in this turn ask before the statement is sent, so its answer is good for all of them.
    this.#check ??= new Promise((resolve, reject) => {
      machine.setImmediate(() => {
        this.#check = undefined
        this.#checked().then(resolve, reject)
      })
    })
    return this.#check
  }

  /** How many gateways there were at the last check of the copy, this one included. */
  get gateways(): number {
    return this.#gateways
  }

  /** The indexes in the copy, which may be old: the function that writes checks their version. */
  indexesOf(container: number): KnownIndexes {
    return this.#contents.indexes.get(container) ?? noIndexesKnown
  }

  async refresh(): Promise<void> {
    this.#endLease()
    await this.present()
  }

  /** After a change, before it is answered: waits until no gateway trusts the old state. */
  async settle(): Promise<void> {
    this.#endLease()
    let others = 1
    try {
      const [row] = await this.#connections.ask<{ others: number }>(othersStatement, [this.#gateway])
      others = row!.others
    } catch {
      // The change has happened; assume that there are others.
    }
    // A little longer than the lease: no two clocks run at exactly the same rate.
    if (others > 0) await new Promise<void>(resolve => machine.setTimeout(resolve, postgresLeaseMs * 1.2))
  }

  signOff(): Promise<unknown> {
    return this.#connections.ask({ name: 'sign_off', text: 'DELETE FROM mayfly.gateways WHERE id = $1' }, [
      this.#gateway,
    ])
  }

  async #checked(): Promise<CatalogContents> {
    const startMs = machine.monotonicMs()
    if (startMs > this.#signOnMs + postgresSignOnMs) {
      await this.#connections.ask(signOnStatement, [this.#gateway])
      this.#signOnMs = startMs
    }
    const askedMs = machine.monotonicMs()
    const [row] = await this.#connections.ask<{ version: number; gateways: number }>(versionStatement, [])
    this.#gateways = Math.max(1, row!.gateways)
    const contents = row!.version === this.#contents.version ? this.#contents : await this.#load()
    // Answers may overtake each other.
    if (contents.version >= this.#contents.version) this.#contents = contents
    if (contents === this.#contents && askedMs >= this.#changedMs) this.#leaseEndMs = askedMs + postgresLeaseMs
    return contents
  }

  #endLease(): void {
    this.#leaseEndMs = Number.NEGATIVE_INFINITY
    this.#changedMs = machine.monotonicMs()
  }

  #load(): Promise<CatalogContents> {
    return this.#connections.reading(async session => {
      const [version, databaseRows, containerRows, indexRows] = await snapshot(session, () =>
        Promise.all([
          session.query('SELECT version FROM mayfly.catalog WHERE one = 1'),
          session.query('SELECT * FROM mayfly.databases ORDER BY number'),
          session.query('SELECT * FROM mayfly.containers ORDER BY number'),
          session.query('SELECT * FROM mayfly.indexes ORDER BY container, number'),
        ]),
      )
      const records = new Map<string, DatabaseRecord | ContainerRecord>()
      const keep = <T extends DatabaseRecord | ContainerRecord>(text: string, make: () => T): T => {
        const record = (this.#records.get(text) as T | undefined) ?? make()
        records.set(text, record)
        return record
      }
      const databases = new Map<string, DatabaseRecord>()
      const byNumber = new Map<number, { record: DatabaseRecord; text: string }>()
      for (const row of databaseRows.rows) {
        const text = JSON.stringify(row)
        const record = keep(text, () => toDatabase(row))
        databases.set(record.id, record)
        byNumber.set(record.number, { record, text })
      }
      const ofContainer = Map.groupBy(indexRows.rows as (IndexRow & { container: number })[], row => row.container)
      const containers = new Map<number, Map<string, ContainerRecord>>()
      const indexes = new Map<number, KnownIndexes>()
      for (const row of containerRows.rows as (ContainerRow & { indexes_version: number })[]) {
        const owner = byNumber.get(row.database)!
        const own = ofContainer.get(row.number) ?? []
        // A record stays the same object if only `indexes_version` changes: it is not part of it.
        const { indexes_version, ...columns } = row
        const text = JSON.stringify([columns, owner.text, own.map(indexText)])
        const record = keep(text, () => toContainer(row, owner.record, own.map(toIndex)))
        const siblings = containers.get(row.database) ?? new Map<string, ContainerRecord>()
        containers.set(row.database, siblings.set(record.id, record))
        indexes.set(row.number, { version: indexes_version, indexes: record.indexes })
      }
      this.#records = records
      return { version: version.rows[0].version, databases, containers, indexes }
    })
  }
}
