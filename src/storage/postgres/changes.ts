/**
 * The items of a container in the order of their last change, bucket by bucket.
 *
 * The number of a write is taken under the lock of its bucket, which is held until the commit. So within a bucket numbers
 * become visible in their order: whoever has read up to one has missed none below it. Across buckets there is no order to be
 * kept, and the server's time gives a good one.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import type { ChangePosition, ChangeRange, ChangesAnswer, ContainerRecord, PageSize } from '../port.ts'
import type { Connections } from './connections.ts'
import {
  answerOf,
  type ItemRow,
  itemColumns,
  type PageRow,
  pageSql,
  required,
  scannedItem,
  thresholds,
} from './items.ts'
import { bucketCount, bucketOf, pkColumn } from './keys.ts'
import type { Moments } from './moments.ts'
import { parsePosition, printPosition } from './positions.ts'
import { changeOrder, isAliveNow } from './predicates.ts'

/** How far each bucket has come; `$1` is the container. */
export const newestSql = `
  SELECT n.bucket, CASE WHEN n.lsn > 0 THEN n.lsn * ${bucketCount} + n.bucket ELSE 0 END AS version
  FROM mayfly.counters n WHERE n.container = $1`

/** When something happened, made to grow with the numbers of its bucket, whatever the server's clock did. */
export function shownAt(row: string, number: string): string {
  return `max(${row}.at) OVER (PARTITION BY ${row}.bucket ORDER BY ${row}.${number})`
}

/** The newest versions come along with the page, of the same snapshot: where nothing is left, reading goes on behind them. */
const changesStatement = {
  name: 'changes',
  text: `
    SELECT p.*, (SELECT array_agg(n.version ORDER BY n.bucket) FROM (${newestSql}) n) AS newest_versions FROM (${pageSql(
      `SELECT i.*, ${shownAt('i', 'version')} AS shown_at FROM (${newestSql}) n
       JOIN unnest($2::bigint[]) WITH ORDINALITY a(version, bucket) ON a.bucket = n.bucket + 1 AND a.version < n.version
       CROSS JOIN LATERAL (
         SELECT i.bucket, i.at, i.${itemColumns} FROM mayfly.items i
         WHERE i.container = $1 AND i.bucket = n.bucket
           AND ${changeOrder('i.')} = $1::bigint * 64 + n.bucket AND i.version > a.version
           AND i.epk >= $5 AND i.epk < $6 AND ($7::bytea IS NULL OR i.pk = $7)
           AND ${isAliveNow('i', { inherited: '$10', own: '$11' })}
         ORDER BY i.version LIMIT $8) i
       WHERE n.bucket BETWEEN $3 AND $4 ORDER BY shown_at, i.bucket, i.version LIMIT $8`,
      'r.shown_at, r.bucket, r.version',
      '$9',
    )}) p ORDER BY p.place`,
}

const nowStatement = { name: 'changes_now', text: newestSql }
const sinceStatement = { name: 'changes_since', text: 'SELECT bucket, version FROM mayfly.changes_since($1, $2)' }

type FoundRow = ItemRow & { bucket: number }
type ChangeRow = PageRow<FoundRow> & { newest_versions: number[] }

function isFound(row: ChangeRow): row is ChangeRow & FoundRow {
  return row.sequence !== null
}

export class Changes {
  readonly #connections: Connections
  readonly #moments: Moments

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  async read(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): Promise<ChangesAnswer> {
    const from = parsePosition(after)
    const { partitionKey } = container
    if (within.at === undefined) await this.#moments.tick()
    const [lowest, highest] = [bucketOf(partitionKey, within.min), bucketOf(partitionKey, within.maxExclusive)]
    const rows = await this.#connections.readLong<ChangeRow>(changesStatement, [
      container.number,
      from,
      lowest,
      highest,
      within.min,
      within.maxExclusive,
      within.pk === undefined ? null : pkColumn(within.pk),
      page.itemsMax,
      page.bytesMax,
      ...thresholds(within.at),
    ])
    const first = required(rows, container)
    const found = rows.filter(isFound)
    const isEnd = found.length === (first.found ?? 0) && found.length < page.itemsMax
    const reached = [...from]
    for (const { bucket, version } of found) reached[bucket] = version
    if (isEnd) advance(reached, first.newest_versions, lowest, highest)
    return { ...answerOf(first, within.at), items: found.map(scannedItem), position: printPosition(reached), isEnd }
  }

  async now(container: ContainerRecord): Promise<ChangePosition> {
    const rows = await this.#connections.read<{ bucket: number; version: number }>(nowStatement, [container.number])
    required(rows, container)
    return printPosition(rows.toSorted((a, b) => a.bucket - b.bucket).map(({ version }) => version))
  }

  async since(container: ContainerRecord, moment: EpochSeconds): Promise<ChangePosition> {
    const values = [container.number, moment]
    const rows = await this.#connections.readLong<{ bucket: number; version: number }>(sinceStatement, values)
    const versions = new Array<number>(bucketCount).fill(0)
    for (const { bucket, version } of rows) versions[bucket] = version
    return printPosition(versions)
  }
}

/** Where nothing is left, reading goes on behind all there is; buckets that were not looked at stay where they are. */
export function advance(versions: number[], newest: readonly number[], lowest: number, highest: number): void {
  for (let bucket = lowest; bucket <= highest; bucket++) {
    versions[bucket] = Math.max(versions[bucket]!, newest[bucket]!)
  }
}
