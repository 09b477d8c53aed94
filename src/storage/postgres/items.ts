/**
 * Reading items: by key, and in key order.
 *
 * Each is one statement that also reads the policy, the clock and the newest version. All of them come from one snapshot, so
 * no answer mixes a moment with a policy that was not in force then.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { livingAt } from '../../ttl/living.ts'
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
  Viewpoint,
} from '../port.ts'
import type { Connections } from './connections.ts'
import { gone } from './errors.ts'
import { bucketCount, bucketOf, keyColumns, keyFromColumns, pkColumn, versionOf } from './keys.ts'
import type { Moments } from './moments.ts'
import { inheritedAfter, isAlive, isAliveNow, ownAfter } from './predicates.ts'
import { type BodyColumns, bodyOf } from './records.ts'
import type { Views } from './views.ts'

/** The columns of every answer. `$1` is the container. */
export interface AnswerRow {
  moment: EpochSeconds
  default_ttl: number | null
  inherited_dead_at: number
  own_dead_at: number
  newest: number
}

export interface ItemRow extends BodyColumns {
  epk: string
  pk: Buffer
  long_pk: Buffer | null
  id: Buffer
  sequence: number
  version: number
  ts: EpochSeconds
  deadline: number | null
}

export const itemColumns = 'epk, i.pk, i.long_pk, i.id, i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes'

/** A row of a page: the answer's columns, and an item unless there is none. */
export type PageRow<Row> = AnswerRow & { found: number } & (Row | { sequence: null })

/** The circumstances of an answer, as a table of one row. */
export const answerSql = `
  SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, (
    SELECT coalesce(max(n.lsn * ${bucketCount} + n.bucket) FILTER (WHERE n.lsn > 0), 0)
    FROM mayfly.counters n WHERE n.container = $1) AS newest
  FROM mayfly.containers c, mayfly.clock k WHERE c.number = $1 AND k.one = 1`

const itemSize = 'coalesce(octet_length(r.body), octet_length(r.bytes))'

/** A page of at most `bytesMax` from rows that are limited and ordered already; one item always fits. */
export function pageSql(rows: string, order: string, bytesMax: string, size = itemSize): string {
  return `
    SELECT h.*, q.* FROM (${answerSql}) h LEFT JOIN (
      SELECT r.*, count(*) OVER () AS found, row_number() OVER page AS place, sum(${size}) OVER page AS size
      FROM (${rows}) r WINDOW page AS (ORDER BY ${order} ROWS UNBOUNDED PRECEDING)
    ) q ON q.size <= ${bytesMax} OR q.place = 1
    ORDER BY q.place`
}

/** The thresholds of a viewpoint as two parameters; NULL: those of now. */
export function thresholds(at: Viewpoint | undefined): [number | null, number | null] {
  if (at === undefined) return [null, null]
  const { inheritedAfter, ownAfter } = livingAt(at.policy, at.moment)
  return [inheritedAfter, ownAfter]
}

const readStatement = {
  name: 'read',
  text: `
    SELECT k.now AS moment, c.default_ttl, c.inherited_dead_at, c.own_dead_at, n.lsn AS newest,
      i.sequence, i.version, i.ts, i.deadline, i.body, i.bytes
    FROM mayfly.containers c CROSS JOIN mayfly.clock k
    JOIN mayfly.counters n ON n.container = c.number AND n.bucket = $2
    LEFT JOIN mayfly.items i ON i.container = c.number AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id = $5
      AND ${isAlive('i', `coalesce($6::bigint, ${inheritedAfter('k.now')})`, `coalesce($7::bigint, ${ownAfter('k.now')})`)}
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
    `SELECT i.bucket, i.${itemColumns} FROM mayfly.items i
     WHERE i.container = $1 AND (i.bucket, i.epk, i.pk, i.id) > ($2::int, $3::text, $4::bytea, $5::bytea)
       AND i.bucket <= $6 AND i.epk < $7 AND ($8::bytea IS NULL OR i.pk = $8)
       AND ${isAliveNow('i', { inherited: '$11', own: '$12' })}
     ORDER BY i.bucket, i.epk, i.pk, i.id LIMIT $9`,
    'r.bucket, r.epk, r.pk, r.id',
    '$10',
  ),
}

const reverseScanStatement = {
  name: 'scan-reverse',
  text: pageSql(
    `SELECT i.${itemColumns} FROM mayfly.items i
     WHERE i.container = $1 AND i.bucket = $2 AND i.epk = $3 AND i.pk = $4 AND i.id < $5
       AND ${isAliveNow('i', { inherited: '$8', own: '$9' })}
     ORDER BY i.id DESC LIMIT $6`,
    'r.id DESC',
    '$7',
  ),
}

const nothing = Buffer.alloc(0)
/** Ids are UTF-8, which has no such byte. */
const behindAllIds = Buffer.of(0xff)

export class Items {
  readonly #connections: Connections
  readonly #moments: Moments

  readonly #views: Views

  constructor(connections: Connections, moments: Moments, views: Views) {
    this.#connections = connections
    this.#moments = moments
    this.#views = views
  }

  view(container: ContainerRecord): Promise<View> {
    let overtaken: View | undefined
    return this.#moments.inOrder(
      async () => {
        overtaken?.[Symbol.dispose]()
        const rows = await this.#connections.read<AnswerRow>(viewStatement, [container.number])
        overtaken = this.#views.open(container.number, answerOf(required(rows, container), undefined))
        return overtaken
      },
      ({ moment }) => moment,
    )
  }

  /** The version is the newest of the bucket, which every other statement would have to visit all buckets for. */
  read(container: ContainerRecord, key: ItemKey, at: Viewpoint | undefined): Promise<ReadAnswer> {
    const bucket = bucketOf(container.partitionKey, key.epk)
    const { epk, pk, id } = keyColumns(key)
    const values = [container.number, bucket, epk, pk, id, ...thresholds(at)]
    const ask = async () => {
      const rows = await this.#connections.read<AnswerRow & (ItemRow | { sequence: null })>(readStatement, values)
      const row = required(rows, container)
      const answer = answerOf({ ...row, newest: row.newest === 0 ? 0 : versionOf(row.newest, bucket) }, at)
      return { ...answer, item: row.sequence === null ? undefined : storedItem(row) }
    }
    return at === undefined ? this.#moments.inOrder(ask, ({ moment }) => moment) : ask()
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
    if (range.at === undefined) await this.#moments.tick()
    const rows = await (range.isReverse === true
      ? this.#scanBack(container, range, page)
      : this.#scanOn(container, range, page))
    const first = required(rows, container)
    const items = rows.filter(hasItem).map(scannedItem)
    const isCut = items.length < first.found || items.length === page.itemsMax
    return { ...answerOf(first, range.at), items, last: isCut ? items.at(-1)?.key : undefined }
  }

  #scanOn({ number, partitionKey }: ContainerRecord, range: ScanRange, page: PageSize): Promise<PageRow<ItemRow>[]> {
    const { min, maxExclusive, after, at } = range
    const from = after === undefined ? { epk: min, pk: nothing, id: nothing } : keyColumns(after)
    return this.#connections.readLong<PageRow<ItemRow>>(scanStatement, [
      number,
      bucketOf(partitionKey, from.epk),
      from.epk,
      from.pk,
      from.id,
      bucketOf(partitionKey, maxExclusive),
      maxExclusive,
      range.pk === undefined ? null : pkColumn(range.pk),
      page.itemsMax,
      page.bytesMax,
      ...thresholds(at),
    ])
  }

  #scanBack({ number, partitionKey }: ContainerRecord, range: ScanRange, page: PageSize): Promise<PageRow<ItemRow>[]> {
    const { min, after, at } = range
    const values = [number, bucketOf(partitionKey, min), min, pkColumn(range.pk!)]
    const id = after === undefined ? behindAllIds : Buffer.from(after.id)
    return this.#connections.readLong<PageRow<ItemRow>>(reverseScanStatement, [
      ...[...values, id, page.itemsMax, page.bytesMax],
      ...thresholds(at),
    ])
  }
}

/** Every statement begins at the container's row; without it nothing comes back. */
export function required<Row>(rows: readonly Row[], container: ContainerRecord): Row {
  const [first] = rows
  if (first === undefined) throw gone(container)
  return first
}

export function answerOf(row: AnswerRow, at: Viewpoint | undefined): Answer {
  const policy = { defaultTtl: row.default_ttl, inheritedDeadAt: row.inherited_dead_at, ownDeadAt: row.own_dead_at }
  return { moment: at?.moment ?? row.moment, policy: at?.policy ?? policy, version: row.newest }
}

export function hasItem<Row extends ItemRow>(row: PageRow<Row>): row is PageRow<Row> & Row {
  return row.sequence !== null
}

export function scannedItem(row: ItemRow): ScannedItem {
  return { key: keyFromColumns(row), ...storedItem(row) }
}

function storedItem({ sequence, version, ts, deadline, body, bytes }: ItemRow): StoredItem {
  return { sequence, version, ts, deadline, body: bodyOf({ body, bytes }) }
}
