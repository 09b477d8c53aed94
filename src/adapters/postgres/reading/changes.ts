/**
 * The items of a container in the order of their last change, bucket by bucket.
 *
 * The number of a write is taken under the lock of its bucket, which is held until the commit. So within a
 * bucket numbers become visible in order: a reader that has seen one has missed none below it. Across buckets
 * no order is promised; changes are sorted by the server's time.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ChangePosition, ChangeRange, ChangesAnswer, PageSize, ScanRange } from '../../../store/reading.ts'
import type { Connections, PostgresSession, SqlStatement } from '../connection/connections.ts'
import { required } from '../connection/errors.ts'
import { bucketCount, bucketOf, pkColumn } from '../rows/keys.ts'
import { bucketVersions, printPosition } from '../rows/positions.ts'
import { changeOrder, isAlive } from '../sql/predicates.ts'
import { type ItemRow, isCut, itemColumns, newestSql, type PageRow, pageSql, scannedItem, thresholds } from './items.ts'
import type { PostgresViews } from './views.ts'

/**
 * SQL for the rows of some buckets that are new behind a position. `newsValues` makes its parameters, which
 * `rows` may use too. Buckets without new writes are skipped. `shown_at` is the time of the change, but
 * never decreases within a bucket, even if the server's clock did.
 *
 * Not `unnest($2)`: Citus refuses LATERAL with LIMIT over it.
 */
export function newsSql(rows: string, number: string): string {
  return `
    SELECT i.*, max(i.at) OVER (PARTITION BY i.bucket ORDER BY i.${number}) AS shown_at
    FROM mayfly.counters n CROSS JOIN LATERAL (${rows} ORDER BY i.${number} LIMIT $7) i
    WHERE n.container = $1 AND n.bucket = ANY ($3::int[])
      AND n.lsn * ${bucketCount} + n.bucket > ($2::bigint[])[n.bucket + 1]
    ORDER BY shown_at, i.bucket, i.${number} LIMIT $7`
}

/** `$1` to `$8` of a statement with `newsSql`. `from` has a version for each bucket. */
export function newsValues(
  container: ContainerRecord,
  from: readonly number[],
  within: ScanRange,
  page: PageSize,
): unknown[] {
  return [
    container.number,
    from,
    bucketsWithin(container, within),
    within.min,
    within.maxExclusive,
    within.pk === undefined ? null : pkColumn(within.pk),
    page.itemsMax,
    page.bytesMax,
  ]
}

const changesStatement = {
  name: 'changes',
  text: pageSql(
    newsSql(
      `SELECT i.bucket, i.at, ${itemColumns} FROM mayfly.items i
       WHERE i.container = $1 AND i.bucket = n.bucket
         AND ${changeOrder('i.container', 'i.bucket')} = ${changeOrder('$1', 'n.bucket')}
         AND i.version > ($2::bigint[])[n.bucket + 1]
         AND i.epk >= $4 AND i.epk < $5 AND ($6::bytea IS NULL OR i.pk = $6) AND ${isAlive('i', '$9', '$10')}`,
      'version',
    ),
    'r.shown_at, r.bucket, r.version',
    '$8',
  ),
}

const nowStatement = { name: 'changes_now', text: newestSql }
const sinceStatement = { name: 'changes_since', text: 'SELECT bucket, version FROM mayfly.changes_since($1, $2)' }

type ChangeRow = ItemRow & { bucket: number }

export class Changes {
  readonly #connections: Connections
  readonly #views: PostgresViews

  constructor(connections: Connections, views: PostgresViews) {
    this.#connections = connections
    this.#views = views
  }

  read(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): Promise<ChangesAnswer> {
    const from = bucketVersions(after)
    return this.#views.from(container, within.at, async at => {
      const values = [...newsValues(container, from, within, page), ...thresholds(at)]
      const { rows, newest } = await this.#connections.reading(session =>
        readNews<ChangeRow>(session, container, changesStatement, values),
      )
      const isEnd = !isCut(rows, page)
      const reached = [...from]
      for (const { bucket, version } of rows) reached[bucket] = version
      if (isEnd) advance(reached, newest, bucketsWithin(container, within))
      return {
        moment: at.moment,
        policy: at.policy,
        version: newestOf(newest, rows),
        items: rows.map(scannedItem),
        position: printPosition(reached),
        isEnd,
      }
    })
  }

  async now(container: ContainerRecord): Promise<ChangePosition> {
    const rows = await this.#connections.ask<BucketVersion>(nowStatement, [container.number])
    return printPosition(versionsOf(rows, container))
  }

  async since(container: ContainerRecord, moment: EpochSeconds): Promise<ChangePosition> {
    const values = [container.number, moment]
    const rows = await this.#connections.readLong<BucketVersion>(sinceStatement, values)
    const versions = new Array<number>(bucketCount).fill(0)
    for (const { bucket, version } of rows) versions[bucket] = version
    return printPosition(versions)
  }
}

interface BucketVersion {
  bucket: number
  version: number
}

function versionsOf(rows: readonly BucketVersion[], container: ContainerRecord): number[] {
  required(rows, container)
  return rows.toSorted((a, b) => a.bucket - b.bucket).map(({ version }) => version)
}

export function bucketsWithin({ partitionKey }: ContainerRecord, { min, maxExclusive }: ScanRange): number[] {
  const lowest = bucketOf(partitionKey, min)
  return Array.from({ length: bucketOf(partitionKey, maxExclusive) - lowest + 1 }, (_, index) => lowest + index)
}

/**
 * Reads the newest version of each bucket, then the new rows: a session runs its statements in the order in
 * which they are sent. The second one sees everything that was committed before the first. So if no row is
 * left, reading may continue behind the newest versions.
 */
export async function readNews<Row>(
  session: PostgresSession,
  container: ContainerRecord,
  statement: SqlStatement,
  values: unknown[],
): Promise<{ rows: PageRow<Row>[]; newest: number[] }> {
  const [newest, page] = await Promise.all([
    session.query({ ...nowStatement, values: [container.number] }),
    session.query({ ...statement, values }),
  ])
  return { rows: page.rows, newest: versionsOf(newest.rows, container) }
}

/** The newest version that the answer has seen. */
export function newestOf(newest: readonly number[], rows: readonly { readonly version: number }[]): number {
  return Math.max(...newest, ...rows.map(({ version }) => version))
}

/** When nothing is left, moves the position behind the newest versions; buckets that were not read stay. */
export function advance(versions: number[], newest: readonly number[], buckets: readonly number[]): void {
  for (const bucket of buckets) versions[bucket] = Math.max(versions[bucket]!, newest[bucket]!)
}
