/**
 * Reads items: by key, and in key order.
 *
 * A point read is one statement that also reads the policy, the clock and the newest version. A page is
 * judged by a viewpoint (`views.ts`). No answer combines a moment with a policy of another moment.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ItemKey, ScannedItem, StoredItem } from '../../../store/item.ts'
import type { Viewpoint } from '../../../store/policy.ts'
import type { PageSize, ReadAnswer, ScanAnswer, ScanRange, SequenceAnswer } from '../../../store/reading.ts'
import { livingAt } from '../../../ttl/living.ts'
import { toPolicy } from '../../catalog-rows.ts'
import type { Connections, PostgresSession, SqlStatement } from '../connection/connections.ts'
import { gone, required } from '../connection/errors.ts'
import type { Moments } from '../connection/moments.ts'
import { bucketCount, bucketOf, keyColumns, keyFromColumns, pkColumn, versionOf } from '../rows/keys.ts'
import { type BodyColumns, bodyOf } from '../rows/records.ts'
import { changeOrder, isAlive } from '../sql/predicates.ts'
import { PointReads } from './point-reads.ts'
import type { PostgresViews } from './views.ts'

interface StoredRow extends BodyColumns {
  sequence: number
  version: number
  ts: EpochSeconds
  deadline: number | null
}

export interface ItemRow extends StoredRow {
  epk: string
  pk: Buffer
  long_pk: Buffer | null
  id: Buffer
}

export const itemColumns = 'i.epk, i.pk, i.long_pk, i.id, i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes'

/** A row of a page, and how many rows there would be without the limit of bytes. */
export type PageRow<Row> = Row & { found: number }

/** The newest version of each bucket; `$1` is the container. */
export const newestSql = `
  SELECT n.bucket, CASE WHEN n.lsn > 0 THEN n.lsn * ${bucketCount} + n.bucket ELSE 0 END AS version
  FROM mayfly.counters n WHERE n.container = $1`

const newestStatement = {
  name: 'newest',
  text: `SELECT max(m.version) AS newest FROM (${newestSql}) m HAVING count(*) > 0`,
}

const itemSize = 'coalesce(octet_length(r.body), octet_length(r.bytes))'

/** Cuts rows, which are limited and sorted already, to a page of `bytesMax`; one item always fits. */
export function pageSql(rows: string, order: string, bytesMax: string, size = itemSize): string {
  return `
    SELECT q.* FROM (
      SELECT r.*, count(*) OVER () AS found, row_number() OVER page AS place, sum(${size}) OVER page AS size
      FROM (${rows}) r WINDOW page AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) q WHERE q.size <= ${bytesMax} OR q.place = 1
    ORDER BY q.place`
}

/** Reads a page, and after it the newest version: no item of the page has a higher one. */
export async function readPage<Row>(
  session: PostgresSession,
  container: ContainerRecord,
  statement: SqlStatement,
  values: unknown[],
): Promise<{ rows: PageRow<Row>[]; newest: number }> {
  const [page, newest] = await Promise.all([
    session.query({ ...statement, values }),
    session.query({ ...newestStatement, values: [container.number] }),
  ])
  return { rows: page.rows, newest: required(newest.rows, container).newest }
}

/** The thresholds of a viewpoint as two parameters. */
export function thresholds(at: Viewpoint): [number, number] {
  const { inheritedAfter, ownAfter } = livingAt(at.policy, at.moment)
  return [inheritedAfter, ownAfter]
}

const inspectStatement = {
  name: 'inspect',
  text: `
    SELECT i.sequence, i.version, i.ts, i.deadline FROM mayfly.counters n
    LEFT JOIN mayfly.items i ON i.container = n.container AND i.bucket = n.bucket
      AND i.epk = $3 AND i.pk = $4 AND i.id = $5
    WHERE n.container = $1 AND n.bucket = $2`,
}

/**
 * Items that never changed stand in the change order at their sequence number, because it is their version.
 * All others have an index of their own. `$1` has the buckets to look in, `$2` the values of `changeOrder`
 * for these buckets.
 */
function sequenceSql(where: string): string {
  return `SELECT ${itemColumns} FROM mayfly.items i
    WHERE i.bucket = ANY ($1::int[]) AND ${changeOrder('i.container', 'i.bucket')} = ANY ($2::bigint[])
      AND i.sequence = $3 AND ${where} AND ${isAlive('i', '$4', '$5')}`
}

const unchangedStatement = { name: 'read_unchanged', text: sequenceSql('i.version = $3') }
const changedStatement = { name: 'read_changed', text: sequenceSql('i.version <> i.sequence') }

const allBuckets = Array.from({ length: bucketCount }, (_, bucket) => bucket)

function scanSql(from: string): string {
  return pageSql(
    `SELECT i.bucket, ${itemColumns} FROM mayfly.items i
     WHERE i.container = $1 AND ${from} AND i.epk < $7 AND ($8::bytea IS NULL OR i.pk = $8)
       AND ${isAlive('i', '$11', '$12')}
     ORDER BY i.bucket, i.epk, i.pk, i.id LIMIT $9`,
    'r.bucket, r.epk, r.pk, r.id',
    '$10',
  )
}

const scanStatement = {
  name: 'scan',
  text: scanSql('(i.bucket, i.epk, i.pk, i.id) > ($2::int, $3::text, $4::bytea, $5::bytea) AND i.bucket <= $6'),
}

/** For a scan within one bucket, such as a scan of one partition key. In a cluster, that is one shard. */
const scanBucketStatement = {
  name: 'scan_bucket',
  text: scanSql('i.bucket = $2 AND i.bucket = $6 AND (i.epk, i.pk, i.id) > ($3::text, $4::bytea, $5::bytea)'),
}

const reverseScanStatement = {
  name: 'scan_reverse',
  text: pageSql(
    `SELECT ${itemColumns} FROM mayfly.items i
     WHERE i.container = $1 AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id < $5
       AND ${isAlive('i', '$8', '$9')}
     ORDER BY i.id DESC LIMIT $6`,
    'r.id DESC',
    '$7',
  ),
}

const nothing = Buffer.alloc(0)

/** Ids are UTF-8, which never contains this byte. */
const behindAllIds = Buffer.of(0xff)

export class Items {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #views: PostgresViews
  readonly #pointReads: PointReads

  constructor(parts: { connections: Connections; moments: Moments; views: PostgresViews; isCluster: boolean }) {
    this.#connections = parts.connections
    this.#moments = parts.moments
    this.#views = parts.views
    this.#pointReads = new PointReads(parts.connections, parts.isCluster)
  }

  read(container: ContainerRecord, key: ItemKey, at: Viewpoint | undefined): Promise<ReadAnswer> {
    const bucket = bucketOf(container.partitionKey, key.epk)
    const place = { container: container.number, bucket, columns: keyColumns(key) }
    const ask = async () => {
      const row = await (at === undefined
        ? this.#pointReads.read(place)
        : this.#pointReads.readAt(place, ...thresholds(at)))
      if (row === undefined) throw gone(container)
      return {
        moment: at?.moment ?? row.moment,
        policy: at?.policy ?? toPolicy(row),
        version: row.newest === 0 ? 0 : versionOf(row.newest, bucket),
        item: row.sequence === null ? undefined : storedItem(row as StoredRow),
      }
    }
    return at === undefined ? this.#moments.inOrder(ask, ({ moment }) => moment) : ask()
  }

  async inspect(container: ContainerRecord, key: ItemKey): Promise<Omit<StoredItem, 'body'> | undefined> {
    const { epk, pk, id } = keyColumns(key)
    const values = [container.number, bucketOf(container.partitionKey, key.epk), epk, pk, id]
    const rows = await this.#connections.ask<{
      [Column in keyof Omit<StoredItem, 'body'>]: StoredItem[Column] | null
    }>(inspectStatement, values)
    const { sequence, version, ts, deadline } = required(rows, container)
    return sequence === null ? undefined : { sequence, version: version!, ts: ts!, deadline }
  }

  /** A sequence number names its bucket, unless the item was moved here from an embedded store. */
  readBySequence(container: ContainerRecord, sequence: number): Promise<SequenceAnswer> {
    return this.#views.from(container, undefined, async at => {
      const look = (buckets: readonly number[]) => this.#lookForSequence(container, sequence, buckets, at)
      const { item, version } = await look([sequence % bucketCount])
      if (item !== undefined) return { moment: at.moment, policy: at.policy, version, item }
      return { moment: at.moment, policy: at.policy, ...(await look(allBuckets)) }
    })
  }

  async #lookForSequence(
    container: ContainerRecord,
    sequence: number,
    buckets: readonly number[],
    at: Viewpoint,
  ): Promise<{ item: ScannedItem | undefined; version: number }> {
    const orders = buckets.map(bucket => container.number * bucketCount + bucket)
    const values = [buckets, orders, sequence, ...thresholds(at)]
    const [unchanged, { rows, newest }] = await this.#connections.reading(session =>
      Promise.all([
        session.query({ ...unchangedStatement, values }),
        readPage<ItemRow>(session, container, changedStatement, values),
      ]),
    )
    const row: ItemRow | undefined = unchanged.rows[0] ?? rows[0]
    return { item: row && scannedItem(row), version: newest }
  }

  scan(container: ContainerRecord, range: ScanRange, page: PageSize): Promise<ScanAnswer> {
    return this.#views.from(container, range.at, async at => {
      const [statement, values] = (range.isReverse === true ? backwards : forwards)(container, range, page, at)
      const { rows, newest } = await this.#connections.reading(session =>
        readPage<ItemRow>(session, container, statement, values),
      )
      const items = rows.map(scannedItem)
      return {
        moment: at.moment,
        policy: at.policy,
        version: newest,
        items,
        last: isCut(rows, page) ? items.at(-1)?.key : undefined,
      }
    })
  }
}

type Scan = [statement: SqlStatement, values: unknown[]]

function forwards({ number, partitionKey }: ContainerRecord, range: ScanRange, page: PageSize, at: Viewpoint): Scan {
  const { min, maxExclusive, after } = range
  // The position may belong to a larger range that contains this one.
  const isBefore = after === undefined || after.epk < min
  const from = isBefore ? { epk: min, pk: nothing, id: nothing } : keyColumns(after)
  const [lowest, highest] = [bucketOf(partitionKey, from.epk), bucketOf(partitionKey, maxExclusive)]
  const pk = range.pk === undefined ? null : pkColumn(range.pk)
  return [
    lowest === highest ? scanBucketStatement : scanStatement,
    [
      ...[number, lowest, from.epk, from.pk, from.id, highest, maxExclusive, pk],
      ...[page.itemsMax, page.bytesMax, ...thresholds(at)],
    ],
  ]
}

function backwards({ number, partitionKey }: ContainerRecord, range: ScanRange, page: PageSize, at: Viewpoint): Scan {
  const { min, after } = range
  const id = after === undefined ? behindAllIds : Buffer.from(after.id)
  const key = [number, bucketOf(partitionKey, min), min, pkColumn(range.pk!), id]
  return [reverseScanStatement, [...key, page.itemsMax, page.bytesMax, ...thresholds(at)]]
}

/** Whether there may be more rows after the page. */
export function isCut(rows: readonly PageRow<unknown>[], page: PageSize): boolean {
  return rows.length < (rows[0]?.found ?? 0) || rows.length === page.itemsMax
}

export function scannedItem(row: ItemRow): ScannedItem {
  return { key: keyFromColumns(row), ...storedItem(row) }
}

function storedItem({ sequence, version, ts, deadline, body, bytes }: StoredRow): StoredItem {
  return { sequence, version, ts, deadline, body: bodyOf({ body, bytes }) }
}
