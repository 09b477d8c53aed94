/**
 * Reading items: by key, and in key order.
 *
 * Each is one statement that also reads the policy, the clock and the newest version. All of them come from one snapshot, so
 * no answer mixes a moment with a policy that was not in force then.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type {
  Answer,
  ContainerRecord,
  ItemKey,
  PageSize,
  ReadAnswer,
  ScanAnswer,
  ScannedItem,
  ScanRange,
  StoredItem,
  View,
} from '../port.ts'
import type { Connections } from './connections.ts'
import { inheritedAfter, ownAfter } from './functions.ts'
import { bucketCount, bucketOf, keyColumns, keyFromColumns, pkColumn, versionOf } from './keys.ts'
import type { Moments } from './moments.ts'

/** The columns of every answer. `$1` is the container. */
export interface AnswerRow {
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  newest: number
}

export interface ItemRow {
  epk: string
  pk: Buffer
  long_pk: Buffer | null
  id: Buffer
  sequence: number
  version: number
  ts: EpochSeconds
  deadline: number | null
  body: string
}

/** A row of a page: the answer's columns, and an item unless there is none. */
export type PageRow<Row> = AnswerRow & { found: number } & (Row | { body: null })

/** The condition to be alive at the given moment, with thresholds that PostgreSQL works out once for a statement. */
export function isAliveSql(moment: string): string {
  const threshold = (sql: string) =>
    `(SELECT ${sql} FROM mayfly.containers c, mayfly.clock k WHERE c.number = $1 AND k.one = 1)`
  return `CASE WHEN i.deadline IS NULL THEN i.ts > ${threshold(inheritedAfter(moment))}
    ELSE i.deadline > ${threshold(ownAfter(moment))} END`
}

/** A page of at most `bytesMax` from rows that are limited and ordered already; one item always fits. */
export function pageSql(rows: string, order: string, { at, bytesMax }: { at: string; bytesMax: string }): string {
  return `
    SELECT h.*, q.* FROM (
      SELECT coalesce(${at}::bigint, k.now) AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at,
        (SELECT coalesce(max(n.lsn * ${bucketCount} + n.bucket) FILTER (WHERE n.lsn > 0), 0)
          FROM mayfly.counters n WHERE n.container = $1) AS newest
      FROM mayfly.containers c, mayfly.clock k WHERE c.number = $1 AND k.one = 1
    ) h LEFT JOIN (
      SELECT r.*, count(*) OVER () AS found, row_number() OVER page AS place,
        sum(octet_length(r.body)) OVER page AS bytes
      FROM (${rows}) r WINDOW page AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) q ON q.bytes <= ${bytesMax} OR q.place = 1
    ORDER BY q.place`
}

const readStatement = {
  name: 'read',
  text: `
    SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, n.lsn AS newest,
      i.sequence, i.version, i.ts, i.deadline, i.body
    FROM mayfly.containers c CROSS JOIN mayfly.clock k
    JOIN mayfly.counters n ON n.container = c.number AND n.bucket = $2
    LEFT JOIN mayfly.items i ON i.container = c.number AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id = $5
      AND CASE WHEN i.deadline IS NULL THEN i.ts > ${inheritedAfter('k.now')} ELSE i.deadline > ${ownAfter('k.now')} END
    WHERE c.number = $1 AND k.one = 1`,
}

const viewStatement = {
  name: 'view',
  text: `
    SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, 0 AS newest
    FROM mayfly.containers c CROSS JOIN mayfly.clock k WHERE c.number = $1 AND k.one = 1`,
}

const inspectStatement = {
  name: 'inspect',
  text: `
    SELECT i.sequence, i.version, i.ts, i.deadline FROM mayfly.containers c
    LEFT JOIN mayfly.items i ON i.container = c.number AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id = $5
    WHERE c.number = $1`,
}

const scanStatement = {
  name: 'scan',
  text: pageSql(
    `SELECT i.bucket, i.epk, i.pk, i.long_pk, i.id, i.sequence, i.version, i.ts, i.deadline, i.body FROM mayfly.items i
     WHERE i.container = $1 AND (i.bucket, i.epk, i.pk, i.id) > ($2::int, $3::text, $4::bytea, $5::bytea)
       AND i.bucket <= $6 AND i.epk < $7 AND ($8::bytea IS NULL OR i.pk = $8)
       AND ${isAliveSql('coalesce($11::bigint, k.now)')}
     ORDER BY i.bucket, i.epk, i.pk, i.id LIMIT $9`,
    'r.bucket, r.epk, r.pk, r.id',
    { at: '$11', bytesMax: '$10' },
  ),
}

const nothing = Buffer.alloc(0)

export class Items {
  readonly #connections: Connections
  readonly #moments: Moments

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  /**
   * The scans of a page are given its moment. The policy they read anew with every statement: no gateway may go by one that has
   * been changed. Nor does a view hold back the sweeps of other gateways.
   */
  view(container: ContainerRecord): Promise<View> {
    return this.#moments.inOrder(
      async () => {
        const rows = await this.#connections.read<AnswerRow>(viewStatement, [container.number])
        const { moment, policy } = answerOf(required(rows, container))
        return { moment, policy, [Symbol.dispose]() {} }
      },
      ({ moment }) => moment,
    )
  }

  /** The version is the newest of the bucket, which every other statement would have to visit all buckets for. */
  read(container: ContainerRecord, key: ItemKey): Promise<ReadAnswer> {
    const bucket = bucketOf(container.partitionKey, key.epk)
    const { epk, pk, id } = keyColumns(key)
    const values = [container.number, bucket, epk, pk, id]
    return this.#moments.inOrder(
      async () => {
        const rows = await this.#connections.read<AnswerRow & (StoredItem | { body: null })>(readStatement, values)
        const row = required(rows, container)
        const answer = answerOf({ ...row, newest: row.newest === 0 ? 0 : versionOf(row.newest, bucket) })
        return { ...answer, item: row.body === null ? undefined : storedItem(row) }
      },
      ({ moment }) => moment,
    )
  }

  async inspect(container: ContainerRecord, key: ItemKey): Promise<Omit<StoredItem, 'body'> | undefined> {
    const { epk, pk, id } = keyColumns(key)
    const values = [container.number, bucketOf(container.partitionKey, key.epk), epk, pk, id]
    const rows = await this.#connections.read<{
      [Column in keyof Omit<StoredItem, 'body'>]: StoredItem[Column] | null
    }>(inspectStatement, values)
    const { sequence, version, ts, deadline } = required(rows, container)
    return sequence === null ? undefined : { sequence, version: version!, ts: ts!, deadline }
  }

  async scan(container: ContainerRecord, range: ScanRange, page: PageSize): Promise<ScanAnswer> {
    const { partitionKey } = container
    const { min, maxExclusive, after } = range
    const from = after === undefined ? { epk: min, pk: nothing, id: nothing } : keyColumns(after)
    await this.#moments.tick()
    const rows = await this.#connections.readLong<PageRow<ItemRow>>(scanStatement, [
      container.number,
      bucketOf(partitionKey, from.epk),
      from.epk,
      from.pk,
      from.id,
      bucketOf(partitionKey, maxExclusive),
      maxExclusive,
      range.pk === undefined ? null : pkColumn(range.pk),
      page.itemsMax,
      page.bytesMax,
      range.at?.moment ?? null,
    ])
    const first = required(rows, container)
    const items = rows.filter(hasItem).map(scannedItem)
    const isCut = items.length < first.found || items.length === page.itemsMax
    return { ...answerOf(first), items, last: isCut ? items.at(-1)?.key : undefined }
  }
}

/** Every statement begins at the container's row; without it nothing comes back. */
export function required<Row>(rows: readonly Row[], container: ContainerRecord): Row {
  const [first] = rows
  if (first !== undefined) return first
  throw new RequestError('namespace_not_found', `The container ${container.id} does not exist any more.`)
}

export function answerOf(row: AnswerRow): Answer {
  return {
    moment: row.moment,
    policy: { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at },
    version: row.newest,
  }
}

export function hasItem<Row extends ItemRow>(row: PageRow<Row>): row is PageRow<Row> & Row {
  return row.body !== null
}

export function scannedItem(row: ItemRow): ScannedItem {
  return { key: keyFromColumns(row), ...storedItem(row) }
}

function storedItem({ sequence, version, ts, deadline, body }: StoredItem): StoredItem {
  return { sequence, version, ts, deadline, body }
}
