/**
 * Reads and counts index entries, in the order of their keys.
 *
 * One table holds the entries of all indexes, so a new index is no change of the schema. An entry contains
 * the key of its item: to join by sequence would need an index on the sequence of all items, which would
 * cost every write of every container.
 */

import { CapacityError } from '../../../base/error.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ScannedItem } from '../../../store/item.ts'
import type { Viewpoint } from '../../../store/policy.ts'
import type { IndexPosition, IndexRange, IndexScanAnswer, PageSize } from '../../../store/reading.ts'
import { lastPosition, remainingRanges, startOf } from '../../index-ranges.ts'
import type { Connections, PostgresSession } from '../connection/connections.ts'
import { required } from '../connection/errors.ts'
import { bucketOf, pkColumn } from '../rows/keys.ts'
import { isAlive } from '../sql/predicates.ts'
import { type ItemRow, isCut, itemColumns, pageSql, readPage, scannedItem, thresholds } from './items.ts'
import type { PostgresViews } from './views.ts'

type EntryRow = ItemRow & { index_key: Buffer }

/**
 * The LIMIT of the inner select makes PostgreSQL look up items one by one, in the order of the entries.
 * Without it, PostgreSQL sometimes read and sorted the whole index (86 ms instead of 3 for a page of 40,000
 * entries).
 */
function scanSql(from: string, direction: 'ASC' | 'DESC'): string {
  const order = (table: string, key: string) => `${table}.${key} ${direction}, ${table}.sequence ${direction}`
  const isBefore = direction === 'ASC' ? '<' : '>'
  return pageSql(
    `SELECT e.key AS index_key, x.* FROM mayfly.entries e CROSS JOIN LATERAL (
       SELECT ${itemColumns} FROM mayfly.items i
       WHERE i.container = e.container AND i.bucket = e.bucket AND i.epk = e.epk AND i.pk = e.pk AND i.id = e.id
         AND i.sequence = e.sequence AND ${isAlive('i', '$11', '$12')} LIMIT 1) x
     WHERE e.container = $1 AND e.number = $2 AND ${from}
       AND e.epk >= $6 AND e.epk < $7 AND ($8::bytea IS NULL OR e.pk = $8)
       AND NOT ($13::boolean AND EXISTS (
         SELECT 1 FROM mayfly.entries o
         JOIN unnest($14::bytea[], $15::bytea[]) r(low, high) ON o.key >= r.low AND o.key < r.high
         WHERE o.container = e.container AND o.bucket = e.bucket AND o.sequence = e.sequence AND o.number = e.number
           AND o.key ${isBefore} e.key))
     ORDER BY ${order('e', 'key')} LIMIT $9`,
    order('r', 'index_key'),
    '$10',
  )
}

const forward = '(e.key, e.sequence) > ($3::bytea, $4::bigint) AND e.key < $5'
const reverse = '(e.key, e.sequence) < ($3::bytea, $4::bigint) AND e.key >= $5'

/** For a scan within one bucket: in a cluster, that is one shard. */
const ofBucket = 'AND e.bucket = $16'

const scanStatements = {
  forward: { name: 'scan_index', text: scanSql(forward, 'ASC') },
  reverse: { name: 'scan_index_reverse', text: scanSql(reverse, 'DESC') },
  bucketForward: { name: 'scan_index_bucket', text: scanSql(`${forward} ${ofBucket}`, 'ASC') },
  bucketReverse: { name: 'scan_index_bucket_reverse', text: scanSql(`${reverse} ${ofBucket}`, 'DESC') },
} as const

/** Asked after the entries were read: a dropped index loses its entries bit by bit. */
const readyStatement = {
  name: 'index_ready',
  text: 'SELECT 1 FROM mayfly.indexes WHERE container = $1 AND number = $2 AND is_ready',
}

const countStatement = {
  name: 'count_entries',
  text: `SELECT count(*)::bigint AS count FROM mayfly.entries e
    WHERE e.container = $1 AND e.number = $2 AND e.key >= $3 AND e.key < $4`,
}

const containerStatement = { name: 'container_there', text: 'SELECT 1 FROM mayfly.containers WHERE number = $1' }

export class Entries {
  readonly #connections: Connections
  readonly #views: PostgresViews

  constructor(connections: Connections, views: PostgresViews) {
    this.#connections = connections
    this.#views = views
  }

  /** A page over several key ranges is read in one snapshot, range by range until it is full. */
  async scan(container: ContainerRecord, range: IndexRange, page: PageSize): Promise<IndexScanAnswer> {
    const parts = remainingRanges(range)
    const answer = await this.#views.from(container, range.within.at, at =>
      this.#connections.reading(session =>
        parts.length <= 1
          ? scanPart(session, { container, range, at }, parts[0] ?? emptyRange, page)
          : scanParts(session, { container, range, at }, parts, page),
      ),
    )
    const ready = await this.#connections.ask(readyStatement, [container.number, range.index])
    if (ready.length > 0) return answer
    throw new CapacityError('unavailable', 'The index that served this was dropped meanwhile. Ask again.', 0)
  }

  async count(container: ContainerRecord, { index, keys }: Pick<IndexRange, 'index' | 'keys'>): Promise<number> {
    return this.#connections.reading(async session => {
      const there = session.query({ ...containerStatement, values: [container.number] })
      const counts = keys.map(({ low, high }) =>
        session.query({ ...countStatement, values: [container.number, index, Buffer.from(low), Buffer.from(high)] }),
      )
      required((await there).rows, container)
      return (await Promise.all(counts)).reduce((sum, { rows }) => sum + rows[0].count, 0)
    })
  }
}

const nothing = Buffer.alloc(0)
const emptyRange = { low: nothing, high: nothing }

interface Asked {
  readonly container: ContainerRecord
  readonly range: IndexRange
  readonly at: Viewpoint
}

async function scanPart(
  session: PostgresSession,
  asked: Asked,
  part: IndexRange['keys'][number],
  page: PageSize,
): Promise<IndexScanAnswer> {
  const { container, range, at } = asked
  const { within, isReverse } = range
  const lowest = bucketOf(container.partitionKey, within.min)
  const isOneBucket = lowest === bucketOf(container.partitionKey, within.maxExclusive)
  const { forward, reverse, bucketForward, bucketReverse } = scanStatements
  const whole = isReverse ? reverse : forward
  const statement = isOneBucket ? (isReverse ? bucketReverse : bucketForward) : whole
  const values = [...scanValues(asked, part, page), ...(isOneBucket ? [lowest] : [])]
  const { rows, newest } = await readPage<EntryRow>(session, container, statement, values)
  const items = rows.map(row => ({ ...scannedItem(row), indexKey: row.index_key }))
  const last = isCut(rows, page) && items.length > 0 ? lastPosition(items) : undefined
  return { moment: at.moment, policy: at.policy, version: newest, items, last }
}

/** Fills a page from one range after the other. If the first item of a range does not fit, the page ends. */
async function scanParts(
  session: PostgresSession,
  asked: Asked,
  parts: IndexRange['keys'],
  page: PageSize,
): Promise<IndexScanAnswer> {
  await session.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
  const items: (ScannedItem & { indexKey: Uint8Array })[] = []
  let bytes = 0
  let answer: IndexScanAnswer | undefined
  let last: IndexPosition | undefined
  for (const part of parts) {
    const rest = { itemsMax: page.itemsMax - items.length, bytesMax: page.bytesMax - bytes }
    answer = await scanPart(session, asked, part, rest)
    const [next] = answer.items
    if (items.length > 0 && next !== undefined && bytes + sizeOf(next) > page.bytesMax) {
      last = lastPosition(items)
      break
    }
    for (const item of answer.items) {
      items.push(item)
      bytes += sizeOf(item)
    }
    ;({ last } = answer)
    if (last !== undefined) break
  }
  await session.query('COMMIT')
  return { ...answer!, items, last }
}

function sizeOf({ body }: ScannedItem): number {
  return typeof body === 'string' ? Buffer.byteLength(body) : body.length
}

function scanValues({ container, range, at }: Asked, part: IndexRange['keys'][number], page: PageSize): unknown[] {
  const { index, keys, isReverse, isDistinct, within } = range
  const start = startOf(range, part)
  return [
    container.number,
    index,
    Buffer.from(start.key),
    start.sequence,
    Buffer.from(isReverse ? part.low : part.high),
    within.min,
    within.maxExclusive,
    within.pk === undefined ? null : pkColumn(within.pk),
    page.itemsMax,
    page.bytesMax,
    ...thresholds(at),
    isDistinct === true,
    keys.map(each => Buffer.from(each.low)),
    keys.map(each => Buffer.from(each.high)),
  ]
}
