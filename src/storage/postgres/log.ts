/**
 * What a container's log remembers: every version, delete and death, in the order of their buckets.
 *
 * What is older than the memory of the container is forgotten at once and removed by its sweeps. A log that begins anew knows
 * nothing of what was before: a bucket whose epoch is not the container's has logged nothing since.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { ChangeRange, ContainerRecord, LogAnswer, LogEntry, PageSize } from '../port.ts'
import { advance, newestSql, shownAt } from './changes.ts'
import type { Connections } from './connections.ts'
import { type AnswerRow, answerOf, pageSql, required } from './items.ts'
import { bucketCount, bucketOf, keyFromColumns, pkColumn } from './keys.ts'
import type { Moments } from './moments.ts'
import { parsePosition, printPosition } from './positions.ts'

/** The number of the last entry of each bucket that is no longer remembered. */
const forgottenSql = `
  SELECT n.bucket, greatest(
    CASE WHEN n.log_epoch = c.log_epoch THEN n.log_forgotten WHEN n.lsn = 0 THEN 0 ELSE n.lsn * ${bucketCount} + n.bucket END,
    (SELECT g.number FROM mayfly.log g WHERE g.container = n.container AND g.bucket = n.bucket AND g.ts <= k.now - c.log_seconds
      ORDER BY g.ts DESC, g.number DESC LIMIT 1)) AS number
  FROM mayfly.containers c CROSS JOIN mayfly.clock k JOIN mayfly.counters n ON n.container = c.number
  WHERE c.number = $1 AND k.one = 1`

const behind = 'unnest($2::bigint[]) WITH ORDINALITY a(number, bucket)'

const logStatement = {
  name: 'log',
  text: `
    SELECT p.*, (SELECT log_seconds FROM mayfly.containers WHERE number = $1) AS log_seconds,
      (SELECT array_agg(n.version ORDER BY n.bucket) FROM (${newestSql}) n) AS newest_versions,
      EXISTS (SELECT 1 FROM (${forgottenSql}) f JOIN ${behind} ON a.bucket = f.bucket + 1
        WHERE f.bucket BETWEEN $3 AND $4 AND a.number < f.number) AS is_forgotten
    FROM (${pageSql(
      `SELECT g.*, ${shownAt('g', 'number')} AS shown_at FROM (${newestSql}) n JOIN ${behind} ON a.bucket = n.bucket + 1 AND a.number < n.version
       CROSS JOIN LATERAL (
         SELECT * FROM mayfly.log g WHERE g.container = $1 AND g.bucket = n.bucket AND g.number > a.number
           AND g.epk >= $5 AND g.epk < $6 AND ($7::bytea IS NULL OR g.pk = $7)
         ORDER BY g.number LIMIT $8) g
       WHERE n.bucket BETWEEN $3 AND $4 ORDER BY shown_at, g.bucket, g.number LIMIT $8`,
      'r.shown_at, r.bucket, r.number',
      '$9',
      `coalesce(octet_length(r.body), 0) + coalesce(octet_length(r.bytes), 0)
        + coalesce(octet_length(r.previous_body), 0) + coalesce(octet_length(r.previous_bytes), 0)`,
    )}) p ORDER BY p.place`,
}

export interface EntryRow {
  bucket: number
  number: number
  kind: LogEntry['kind']
  epk: string
  pk: Buffer
  long_pk: Buffer | null
  id: Buffer
  version: number
  sequence: number
  ts: EpochSeconds
  body: string | null
  bytes: Buffer | null
  previous_version: number | null
  previous_body: string | null
  previous_bytes: Buffer | null
}

type LogRow = AnswerRow & {
  log_seconds: number | null
  newest_versions: number[]
  is_forgotten: boolean
  found: number | null
} & (EntryRow | { number: null })

export class Log {
  readonly #connections: Connections
  readonly #moments: Moments

  constructor(connections: Connections, moments: Moments) {
    this.#connections = connections
    this.#moments = moments
  }

  async read(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): Promise<LogAnswer> {
    const reached = parsePosition(after)
    const { partitionKey } = container
    const [lowest, highest] = [bucketOf(partitionKey, within.min), bucketOf(partitionKey, within.maxExclusive)]
    await this.#moments.tick()
    const rows = await this.#connections.readLong<LogRow>(logStatement, [
      container.number,
      reached,
      lowest,
      highest,
      within.min,
      within.maxExclusive,
      within.pk === undefined ? null : pkColumn(within.pk),
      page.itemsMax,
      page.bytesMax,
    ])
    const first = required(rows, container)
    if (first.log_seconds === null) throw new RequestError('malformed', `The container ${container.id} keeps no log.`)
    const answer = answerOf(first, undefined)
    if (first.is_forgotten) return { ...answer, entries: [], position: after, isEnd: false, isForgotten: true }
    const entries = rows.filter(row => row.number !== null).map(row => entryOf(row, reached))
    const isEnd = entries.length === (first.found ?? 0) && entries.length < page.itemsMax
    if (isEnd) advance(reached, first.newest_versions, lowest, highest)
    return { ...answer, entries, position: printPosition(reached), isEnd, isForgotten: false }
  }
}

/** The position of an entry is behind it in its own bucket, and in the others behind the entries before it on the page. */
function entryOf(row: EntryRow, reached: number[]): LogEntry {
  reached[row.bucket] = row.number
  return { ...storedEntry(row), position: printPosition(reached) }
}

export function storedEntry(row: EntryRow): Omit<LogEntry, 'position'> {
  const { kind, version, sequence, ts, previous_version } = row
  const previousBody = row.previous_body ?? row.previous_bytes
  return {
    kind,
    key: keyFromColumns(row),
    version,
    sequence,
    ts,
    body: row.body ?? row.bytes ?? undefined,
    previous:
      previous_version === null || previousBody === null
        ? undefined
        : { version: previous_version, body: previousBody },
  }
}
