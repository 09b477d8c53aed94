/** Corrects the stamps of items and log entries that were written while the clock was ahead by mistake. */

import type { KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { noFindings } from '../index-findings.ts'
import { restamped } from '../restamped.ts'
import type { PostgresCatalog } from './catalog/catalog.ts'
import { lockBuckets } from './connection/bucket-locks.ts'
import type { Connections, PostgresSession } from './connection/connections.ts'
import { type ClockRow, type Moments, readClockRow } from './connection/moments.ts'
import { type Entry, entriesOf } from './rows/entry-keys.ts'
import { bucketCount } from './rows/keys.ts'
import { type BodyColumns, bodyOf } from './rows/records.ts'

interface Row extends BodyColumns {
  readonly epk: string
  readonly pk: Buffer
  readonly long_pk: Buffer | null
  readonly id: Buffer
  readonly sequence: number
  readonly ts: ClockRow['moment']
  readonly deadline: number | null
}

type HasFixedDeadlines = (container: ContainerRecord) => boolean

/**
 * The log of a deleted container is kept for a day. If its end is more than a week away, a wrong clock has
 * set it.
 */
const keptSecondsMax = 7 * 86_400

export class PostgresRestamping {
  readonly #connections: Connections
  readonly #moments: Moments
  readonly #catalog: PostgresCatalog
  readonly #keysOf: KeyMaker
  /** Buckets that are left, and the epoch in which they were found. */
  #left: { container: ContainerRecord; bucket: number }[] | undefined
  #epoch = 0

  constructor(parts: { connections: Connections; moments: Moments; catalog: PostgresCatalog; keysOf: KeyMaker }) {
    this.#connections = parts.connections
    this.#moments = parts.moments
    this.#catalog = parts.catalog
    this.#keysOf = parts.keysOf
  }

  /** Looks at one bucket; false when nothing is left. Gateways that do it at the same time do no harm. */
  async step(rowsMax: number, hasFixedDeadlines: HasFixedDeadlines): Promise<boolean> {
    await this.#moments.tick()
    // While the time is in doubt again, it is not known what lies in the future.
    if (this.#moments.ahead === null || this.#moments.isInDoubt) return false
    this.#left ??= await this.#allBuckets()
    const next = this.#left.at(-1)
    if (next === undefined) {
      await this.#finish()
      this.#left = undefined
      return false
    }
    const isClean = await this.#connections.transaction(session =>
      this.#bucket(session, next, rowsMax, hasFixedDeadlines(next.container)),
    )
    if (isClean) this.#left.pop()
    return true
  }

  async #allBuckets(): Promise<{ container: ContainerRecord; bucket: number }[]> {
    const row = await this.#connections.reading(readClockRow)
    this.#epoch = row.epoch
    const databases = await this.#catalog.databases()
    const containers = (await Promise.all(databases.map(database => this.#catalog.containers(database)))).flat()
    return containers.flatMap(container => Array.from({ length: bucketCount }, (_, bucket) => ({ container, bucket })))
  }

  async #finish(): Promise<void> {
    const values = [this.#epoch, keptSecondsMax]
    await this.#connections.transaction(async session => {
      await session.query(
        `UPDATE mayfly.kept_logs l SET until = greatest(l.until - k.ahead, k.now) FROM mayfly.clock k
         WHERE k.one = 1 AND k.epoch = $1 AND l.until > k.now + $2`,
        values,
      )
      await session.query('UPDATE mayfly.clock SET ahead = NULL WHERE one = 1 AND epoch = $1', [this.#epoch])
    })
    this.#moments.forgetAhead(this.#epoch)
  }

  async #bucket(
    session: PostgresSession,
    { container, bucket }: { container: ContainerRecord; bucket: number },
    rowsMax: number,
    isDeadlineFixed: boolean,
  ): Promise<boolean> {
    const { number } = container
    await lockBuckets(session, [{ container: number, bucket }])
    const { moment, ahead, sure } = await readClockRow(session)
    if (ahead === null || sure !== null) return true
    const { rows } = await session.query(
      `SELECT epk, pk, long_pk, id, sequence, ts, deadline, body, bytes FROM mayfly.items
       WHERE container = $1 AND bucket = $2 AND ts > $3 LIMIT $4`,
      [number, bucket, moment, rowsMax],
    )
    for (const row of rows as Row[]) {
      const before = { ts: row.ts, deadline: row.deadline, body: bodyOf(row) }
      const after = restamped(before, { ahead, moment, isDeadlineFixed })
      await session.query(
        `UPDATE mayfly.items SET ts = $6, deadline = $7, body = $8
         WHERE container = $1 AND bucket = $2 AND epk = $3 AND pk = $4 AND id = $5`,
        [
          ...[number, bucket, row.epk, row.pk, row.id, after.ts, after.deadline],
          typeof after.body === 'string' ? after.body : null,
        ],
      )
      const entries = (body: typeof before.body) =>
        entriesOf(this.#keysOf, container.indexes, { pk: (row.long_pk ?? row.pk).toString(), body }, noFindings())
      await moveEntries(session, {
        container: number,
        bucket,
        row,
        gone: entries(before.body),
        made: entries(after.body),
      })
    }
    if (rows.length === rowsMax) return false
    const end = (ts: string) => `'"_ts":' || ${ts} || '}'`
    await session.query(
      `UPDATE mayfly.log SET ts = least(ts - $3, $4),
         body = CASE WHEN right(body, length(${end('ts')})) = ${end('ts')}
           THEN left(body, -length(${end('ts')})) || ${end('least(ts - $3, $4)')} ELSE body END
       WHERE container = $1 AND bucket = $2 AND ts > $4`,
      [number, bucket, ahead, moment],
    )
    return true
  }
}

/**
 * Replaces the index entries of an item whose stamp has changed. Only keys that contain the stamp differ.
 */
async function moveEntries(
  session: PostgresSession,
  change: {
    readonly container: number
    readonly bucket: number
    readonly row: Row
    readonly gone: readonly Entry[]
    readonly made: readonly Entry[]
  },
): Promise<void> {
  const { container, bucket, row, gone, made } = change
  const isIn = (entries: readonly Entry[]) => (entry: Entry) =>
    entries.some(({ number, key }) => number === entry.number && key.equals(entry.key))
  for (const { number, key } of gone.filter(entry => !isIn(made)(entry))) {
    await session.query(
      'DELETE FROM mayfly.entries WHERE container = $1 AND bucket = $2 AND number = $3 AND key = $4 AND sequence = $5',
      [container, bucket, number, key, row.sequence],
    )
  }
  for (const { number, key } of made.filter(entry => !isIn(gone)(entry))) {
    await session.query(
      `INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT DO NOTHING`,
      [container, bucket, number, key, row.sequence, row.epk, row.pk, row.id],
    )
  }
}
