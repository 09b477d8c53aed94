/** Removes dead rows and the rows of deleted containers, and counts cohorts of items. */

import { randomInt } from 'node:crypto'
import type { ContainerRecord } from '../../store/catalog.ts'
import type { Census, Cohort } from '../../store/reading.ts'
import type { Connections } from './connection/connections.ts'
import { gone, required } from './connection/errors.ts'
import type { Moments } from './connection/moments.ts'
import type { PostgresViews } from './reading/views.ts'
import { bucketCount } from './rows/keys.ts'
import { sureTime } from './sql/predicates.ts'
import { rowsAt } from './sql/sweep-function.ts'

const deadStatement = { name: 'dead_buckets', text: 'SELECT buckets FROM mayfly.dead_buckets($1, $2, $3)' }
const sweepStatement = { name: 'sweep', text: 'SELECT * FROM mayfly.sweep($1, $2, $3, $4, $5, $6, $7)' }

const censusStatement = {
  name: 'census',
  text: `
    SELECT sum(n.rows)::bigint AS rows, sum(n.lsn)::bigint AS writes,
      coalesce(max(n.lsn * ${bucketCount} + n.bucket) FILTER (WHERE n.lsn > 0), 0) AS version,
      min((SELECT min(i.ts) FROM mayfly.items i
        WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NULL)) AS "earliestInherited",
      min((SELECT min(i.deadline) FROM mayfly.items i
        WHERE i.container = n.container AND i.bucket = n.bucket AND i.deadline IS NOT NULL)) AS "earliestOwn",
      min((SELECT min(g.ts) FROM mayfly.log g
        WHERE g.container = n.container AND g.bucket = n.bucket)) AS "earliestLogged"
    FROM mayfly.counters n WHERE n.container = $1 GROUP BY n.container`,
}

function countSql(condition: string, by: string): string {
  return `
    SELECT sum((SELECT count(*) FROM mayfly.items i WHERE i.container = n.container AND i.bucket = n.bucket
      AND ${condition} AND ${by} > $2 AND ${by} <= $3))::bigint AS count
    FROM mayfly.counters n WHERE n.container = $1 GROUP BY n.container`
}

const countStatement = {
  inherited: { name: 'count_inherited', text: countSql('i.deadline IS NULL', 'i.ts') },
  own: { name: 'count_own', text: countSql('i.deadline IS NOT NULL', 'i.deadline') },
} as const

interface Swept {
  removed: number
  clean: number[]
  busy: number[]
}

export class Purge {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #views: PostgresViews
  readonly #isCluster: boolean
  /** Buckets that were found to have something to remove, by container. */
  readonly #dead = new Map<number, number[]>()
  readonly #firstBucket = randomInt(bucketCount)
  #sweeps = 0

  constructor(parts: { connections: Connections; moments: Moments; views: PostgresViews; isCluster: boolean }) {
    this.#connections = parts.connections
    this.#moments = parts.moments
    this.#views = parts.views
    this.#isCluster = parts.isCluster
  }

  /**
   * Goes through the buckets that have something to remove. A bucket that is locked, by a writer or another
   * sweep, is left for the next time. If all are locked, this waits for one of them; otherwise a busy bucket
   * would keep its dead for ever.
   */
  async sweep(container: ContainerRecord, rowsMax: number): Promise<{ removed: number; done: boolean }> {
    await this.#moments.tick()
    const { number } = container
    const known = this.#dead.get(number) ?? []
    const dead = known.length > 0 ? known : await this.#deadBuckets(container)
    if (dead.length === 0) return { removed: 0, done: true }
    // The two lifespans take turns at being first.
    const isOwnFirst = this.#sweeps++ % 2 === 1
    const { removed, clean, busy } = await this.#sweepBuckets(container, dead, { rowsMax, isOwnFirst, waits: false })
    if (busy.length === dead.length) {
      const waited = await this.#sweepBuckets(container, busy.slice(0, 1), { rowsMax, isOwnFirst, waits: true })
      this.#dead.delete(number)
      return { removed: waited.removed, done: false }
    }
    const left = dead.filter(bucket => !clean.includes(bucket) && !busy.includes(bucket))
    this.#dead.set(number, [...left, ...busy])
    return { removed, done: left.length + busy.length === 0 && (await this.#isClean(container)) }
  }

  async census(container: ContainerRecord): Promise<Census> {
    const rows = await this.#connections.ask<Census>(censusStatement, [container.number])
    return required(rows, container)
  }

  async count(container: ContainerRecord, { lifespan, after, upTo }: Cohort): Promise<number> {
    const values = [container.number, after, upTo]
    const rows = await this.#connections.readLong<{ count: number }>(countStatement[lifespan], values)
    return required(rows, container).count
  }

  /**
   * Removes a part of one deleted container or dropped index; false when nothing is left. Nobody writes
   * there any more. Gateways that reclaim at the same time skip each other's rows.
   */
  async reclaim(rowsMax: number): Promise<boolean> {
    await this.#moments.tick()
    return this.#connections.transaction(async session => {
      const remove = async (table: string, condition: string, values: unknown[]) => {
        const next = await session.query(`SELECT bucket FROM mayfly.${table} WHERE ${condition} LIMIT 1`, values)
        if (next.rows.length === 0) return false
        const inBucket = `${condition} AND bucket = $${values.length + 1}`
        const limit = `LIMIT $${values.length + 2} FOR UPDATE SKIP LOCKED`
        const found = `ARRAY(SELECT ctid FROM mayfly.${table} WHERE ${inBucket} ${limit})`
        await session.query(`DELETE FROM mayfly.${table} WHERE ${rowsAt(this.#isCluster, inBucket, found)}`, [
          ...values,
          next.rows[0].bucket,
          rowsMax,
        ])
        return true
      }
      const kept = await session.query(
        `SELECT container FROM mayfly.kept_logs
         WHERE until <= (SELECT ${sureTime} FROM mayfly.clock k WHERE k.one = 1) LIMIT 1`,
      )
      if (kept.rows.length > 0) {
        const { container } = kept.rows[0]
        if (await remove('log', 'container = $1', [container])) return true
        await session.query('DELETE FROM mayfly.kept_logs WHERE container = $1', [container])
        return true
      }
      const doomed = await session.query('SELECT container FROM mayfly.doomed LIMIT 1')
      if (doomed.rows.length > 0) {
        const { container } = doomed.rows[0]
        const isKept = await session.query('SELECT 1 FROM mayfly.kept_logs WHERE container = $1', [container])
        const tables = ['entries', 'items', 'lanes', ...(isKept.rows.length > 0 ? [] : ['log'])]
        for (const table of tables) {
          if (await remove(table, 'container = $1', [container])) return true
        }
        await session.query('DELETE FROM mayfly.doomed WHERE container = $1', [container])
        return true
      }
      const dropped = await session.query('SELECT container, number FROM mayfly.doomed_indexes LIMIT 1')
      if (dropped.rows.length === 0) return false
      const { container, number } = dropped.rows[0]
      if (await remove('entries', 'container = $1 AND number = $2', [container, number])) return true
      await session.query('DELETE FROM mayfly.doomed_indexes WHERE container = $1 AND number = $2', [container, number])
      return true
    })
  }

  async #deadBuckets(container: ContainerRecord): Promise<number[]> {
    const values = [container.number, ...this.#thresholdsMax(container)]
    const [row] = await this.#connections.readLong<{ buckets: number[] | null }>(deadStatement, values)
    if (row!.buckets === null) throw gone(container)
    const dead = row!.buckets.toSorted((a, b) => a - b)
    // Each gateway starts at another bucket, so that they do not get in each other's way.
    const first = dead.findIndex(bucket => bucket >= this.#firstBucket)
    return first === -1 ? dead : [...dead.slice(first), ...dead.slice(0, first)]
  }

  /** Must not be repeated: it could remove more than `rowsMax`. */
  async #sweepBuckets(
    container: ContainerRecord,
    buckets: readonly number[],
    { rowsMax, isOwnFirst, waits }: { rowsMax: number; isOwnFirst: boolean; waits: boolean },
  ): Promise<Swept> {
    const values = [container.number, buckets, rowsMax, isOwnFirst, waits, ...this.#thresholdsMax(container)]
    return (await this.#connections.once<Swept>(sweepStatement, values))[0]!
  }

  async #isClean(container: ContainerRecord): Promise<boolean> {
    const dead = await this.#deadBuckets(container)
    this.#dead.set(container.number, dead)
    return dead.length === 0
  }

  #thresholdsMax({ number }: ContainerRecord): number[] {
    const { inheritedAfter, ownAfter } = this.#views.holdBack(number)
    return [inheritedAfter, ownAfter]
  }
}
