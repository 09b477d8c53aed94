/**
 * Reads the log of a container: every version, delete and death, in the order of each bucket.
 *
 * The container sets how old an entry may be. A position before older entries is answered with `isForgotten`
 * at once; sweeps remove these entries later. A log that is switched on again starts a new epoch, without
 * older entries. A bucket whose epoch is not the container's has logged nothing in this epoch.
 */

import type { EpochSeconds } from '../../../base/clock.ts'
import { RequestError } from '../../../base/error.ts'
import type { ContainerRecord } from '../../../store/catalog.ts'
import type { ChangeRange, LogAnswer, LogEntry, PageSize } from '../../../store/reading.ts'
import type { Connections } from '../connection/connections.ts'
import { bucketCount, keyFromColumns } from '../rows/keys.ts'
import { bucketVersions, printPosition } from '../rows/positions.ts'
import { advance, bucketsWithin, newestOf, newsSql, newsValues, readNews } from './changes.ts'
import { isCut, pageSql } from './items.ts'
import type { PostgresViews } from './views.ts'

/**
 * How many buckets have forgotten entries behind the position. `$4` is the container's epoch, `$5` the second
 * up to which its log is forgotten. A bucket has forgotten everything up to the later of two entries:
 *
 *   in the container's epoch   the last entry that sweeps removed
 *   in another epoch           its last write
 *   in any epoch               the last entry that is too old, even if it was not removed yet
 */
const forgottenStatement = {
  name: 'log_forgotten',
  text: `
    SELECT count(*)::int AS buckets FROM mayfly.counters n WHERE n.container = $1 AND n.bucket = ANY ($3::int[])
      AND ($2::bigint[])[n.bucket + 1] < greatest(
        CASE WHEN n.log_epoch = $4 THEN n.log_forgotten WHEN n.lsn = 0 THEN 0
          ELSE n.lsn * ${bucketCount} + n.bucket END,
        (SELECT max(g.number) FROM mayfly.log g WHERE g.container = n.container AND g.bucket = n.bucket AND g.ts = (
          SELECT max(h.ts) FROM mayfly.log h WHERE h.container = n.container AND h.bucket = n.bucket AND h.ts <= $5)))`,
}

const logStatement = {
  name: 'log',
  text: pageSql(
    newsSql(
      `SELECT * FROM mayfly.log i WHERE i.container = $1 AND i.bucket = n.bucket
         AND i.number > ($2::bigint[])[n.bucket + 1] AND i.epk >= $4 AND i.epk < $5
         AND ($6::bytea IS NULL OR i.pk = $6)`,
      'number',
    ),
    'r.shown_at, r.bucket, r.number',
    '$8',
    `coalesce(octet_length(r.body), 0) + coalesce(octet_length(r.bytes), 0)
      + coalesce(octet_length(r.previous_body), 0) + coalesce(octet_length(r.previous_bytes), 0)`,
  ),
}

export interface LogRow {
  bucket: number
  number: number
  tick: number
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

export class PostgresChangeLog {
  readonly #connections: Connections
  readonly #views: PostgresViews

  constructor(connections: Connections, views: PostgresViews) {
    this.#connections = connections
    this.#views = views
  }

  async read(container: ContainerRecord, { within, after }: ChangeRange, page: PageSize): Promise<LogAnswer> {
    const reached = bucketVersions(after)
    using view = await this.#views.take(container)
    const { moment, policy, logSeconds, logEpoch } = view
    if (logSeconds === null) throw new RequestError('malformed', `The container ${container.id} keeps no log.`)
    const buckets = bucketsWithin(container, within)
    const values = newsValues(container, reached, within, page)
    // A session runs its statements in the order in which they are sent: the page first. So entries that were
    // removed before the page was read are noticed.
    const [{ rows, newest }, forgotten] = await this.#connections.reading(session =>
      Promise.all([
        readNews<LogRow>(session, container, logStatement, values),
        session.query({
          ...forgottenStatement,
          values: [container.number, reached, buckets, logEpoch, moment - logSeconds],
        }),
      ]),
    )
    const answer = { moment, policy, version: newestOf(newest, rows) }
    if (forgotten.rows[0].buckets > 0)
      return { ...answer, entries: [], position: after, isEnd: false, isForgotten: true }
    const entries: LogEntry[] = []
    for (const row of rows) {
      // The position of an entry: its number in its own bucket, and in the others the last entry before it.
      reached[row.bucket] = row.number
      entries.push({ ...storedEntry(row), position: printPosition(reached) })
    }
    const isEnd = !isCut(rows, page)
    if (isEnd) advance(reached, newest, buckets)
    return { ...answer, entries, position: printPosition(reached), isEnd, isForgotten: false }
  }
}

export function storedEntry(row: LogRow): Omit<LogEntry, 'position'> {
  const { kind, version, sequence, ts, tick, previous_version } = row
  const previousBody = row.previous_body ?? row.previous_bytes
  return {
    kind,
    key: keyFromColumns(row),
    version,
    sequence,
    ts,
    tick,
    body: row.body ?? row.bytes ?? undefined,
    previous:
      previous_version === null || previousBody === null
        ? undefined
        : { version: previous_version, body: previousBody },
  }
}
