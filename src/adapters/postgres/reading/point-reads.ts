/**
 * Point reads, and how those that arrive together share a statement.
 *
 * A statement reads the item, the policy, the clock and the newest version in one snapshot. While others are
 * under way, the reads of one turn of the event loop from one container share a statement: the round trip and
 * the start of a statement cost more than finding an item.
 */

import { type EpochSeconds, machine } from '../../../base/clock.ts'
import type { Connections, SqlStatement } from '../connection/connections.ts'
import type { KeyColumns } from '../rows/keys.ts'
import type { BodyColumns } from '../rows/records.ts'
import { inheritedAfter, isAlive, ownAfter } from '../sql/predicates.ts'

/**
 * Point reads that share a statement. If more arrive, they are sent in several groups: PostgreSQL and the
 * gateway then work in parallel.
 */
const postgresReadsGroupedMax = 16

/** Where an item is, or would be stored. */
export interface ItemAddress {
  readonly container: number
  readonly bucket: number
  readonly columns: KeyColumns
}

export interface ReadRow extends BodyColumns {
  /** NULL: there is no living item. */
  sequence: number | null
  version: number
  ts: EpochSeconds
  deadline: number | null
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  /** Number of the last write to the bucket; other buckets are not read. */
  newest: number
}

const columns = `k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, n.lsn AS newest,
      i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes`

function givenOr(parameter: string, otherwise: string): string {
  return `coalesce(${parameter}::bigint, ${otherwise})`
}

export const readStatement = {
  name: 'read',
  text: `
    SELECT ${columns}
    FROM mayfly.containers c CROSS JOIN mayfly.clock k
    JOIN mayfly.counters n ON n.container = c.number AND n.bucket = $2
    LEFT JOIN mayfly.items i ON i.container = c.number AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id = $5
      AND ${isAlive('i', givenOr('$6', inheritedAfter('k.now')), givenOr('$7', ownAfter('k.now')))}
    WHERE c.number = $1 AND k.one = 1`,
}

/**
 * LIMIT makes PostgreSQL use one index lookup per item, whatever its statistics say. The arrays are
 * subqueries, so that it does not know how long they are and makes no plan for each length.
 */
const readManyStatement = {
  name: 'read_many',
  text: `
    SELECT w.place, ${columns}
    FROM mayfly.containers c CROSS JOIN mayfly.clock k
    CROSS JOIN unnest((SELECT $2::int[]), (SELECT $3::text[]), (SELECT $4::bytea[]), (SELECT $5::bytea[]))
      WITH ORDINALITY w(bucket, epk, pk, id, place)
    CROSS JOIN LATERAL (SELECT * FROM mayfly.counters n WHERE n.container = c.number AND n.bucket = w.bucket LIMIT 1) n
    LEFT JOIN LATERAL (SELECT * FROM mayfly.items i
      WHERE i.container = c.number AND i.bucket = w.bucket AND i.epk = w.epk AND i.pk = w.pk AND i.id = w.id LIMIT 1) i
      ON ${isAlive('i', inheritedAfter('k.now'), ownAfter('k.now'))}
    WHERE c.number = $1 AND k.one = 1`,
}

/**
 * The same in a cluster; with the statement above, Citus would copy clock and policies to the worker each
 * time.
 */
const readOnWorkerStatement = {
  name: 'read_on_worker',
  text: 'SELECT * FROM mayfly.read($1, $2, $3, $4, $5, $6, $7) WHERE newest IS NOT NULL',
}

interface Waiting extends Pick<PromiseWithResolvers<ReadRow | undefined>, 'resolve' | 'reject'> {
  readonly place: ItemAddress
}

export class PointReads {
  readonly #connections: Connections
  readonly #isCluster: boolean
  /** Reads of this turn, by container. */
  #waiting = new Map<number, Waiting[]>()
  /** Statements without an answer yet. If there are none, a read is sent at once. */
  #underWay = 0

  constructor(connections: Connections, isCluster: boolean) {
    this.#connections = connections
    this.#isCluster = isCluster
  }

  /** As of now; undefined: there is no such container. */
  read(place: ItemAddress): Promise<ReadRow | undefined> {
    if (this.#isCluster || this.#underWay === 0) return this.readAt(place, null, null)
    const { promise, resolve, reject } = Promise.withResolvers<ReadRow | undefined>()
    if (this.#waiting.size === 0) machine.setImmediate(() => this.#send())
    const others = this.#waiting.get(place.container)
    if (others === undefined) this.#waiting.set(place.container, [{ place, resolve, reject }])
    else others.push({ place, resolve, reject })
    return promise
  }

  /** Judged by the given thresholds. Null stands for the thresholds of now. */
  async readAt(place: ItemAddress, inherited: number | null, own: number | null): Promise<ReadRow | undefined> {
    const { container, bucket, columns } = place
    const values = [container, bucket, columns.epk, columns.pk, columns.id, inherited, own]
    // A shared connection runs one read after the other, which is slow if each waits for a worker.
    if (this.#isCluster) return (await this.#connections.readLong<ReadRow>(readOnWorkerStatement, values))[0]
    return (await this.#ask<ReadRow>(readStatement, values))[0]
  }

  #send(): void {
    const groups = this.#waiting
    this.#waiting = new Map()
    for (const [container, waiting] of groups) {
      for (let first = 0; first < waiting.length; first += postgresReadsGroupedMax) {
        void this.#sendGroup(container, waiting.slice(first, first + postgresReadsGroupedMax))
      }
    }
  }

  async #sendGroup(container: number, group: readonly Waiting[]): Promise<void> {
    const [first] = group
    if (group.length === 1) return first!.resolve(this.readAt(first!.place, null, null))
    const of = <T>(value: (place: ItemAddress) => T) => group.map(({ place }) => value(place))
    const values = [
      container,
      of(({ bucket }) => bucket),
      of(({ columns }) => columns.epk),
      of(({ columns }) => columns.pk),
      of(({ columns }) => columns.id),
    ]
    try {
      const rows = await this.#ask<ReadRow & { place: number }>(readManyStatement, values)
      const answers: (ReadRow | undefined)[] = new Array(group.length).fill(undefined)
      for (const row of rows) answers[row.place - 1] = row
      for (const [index, { resolve }] of group.entries()) resolve(answers[index])
    } catch (error) {
      for (const { reject } of group) reject(error)
    }
  }

  async #ask<Row>(statement: SqlStatement, values: unknown[]): Promise<Row[]> {
    this.#underWay++
    try {
      return await this.#connections.ask<Row>(statement, values)
    } finally {
      this.#underWay--
    }
  }
}
