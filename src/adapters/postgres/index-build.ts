/** Builds an index: makes its entries for the items that are older than it, bucket by bucket. */

import type { KeyMaker } from '../../document/index-keys.ts'
import type { ContainerRecord } from '../../store/catalog.ts'
import { type IndexRow, toIndex } from '../catalog-rows.ts'
import { noFindings } from '../index-findings.ts'
import { bump, noteFindings, touchIndexes } from './catalog/catalog-changes.ts'
import type { CatalogCopy } from './catalog/catalog-copy.ts'
import { lockBuckets } from './connection/bucket-locks.ts'
import type { Connections, PostgresSession } from './connection/connections.ts'
import { entriesOf } from './rows/entry-keys.ts'
import { type BodyColumns, bodyOf } from './rows/records.ts'

export class IndexBuild {
  readonly #connections: Connections
  readonly #copy: CatalogCopy
  readonly #keysOf: KeyMaker

  constructor(parts: { connections: Connections; copy: CatalogCopy; keysOf: KeyMaker }) {
    this.#connections = parts.connections
    this.#copy = parts.copy
    this.#keysOf = parts.keysOf
  }

  /** Makes entries for at most `rowsMax` items; true when the index is ready or gone. */
  async build(container: ContainerRecord, number: number, rowsMax: number): Promise<boolean> {
    for (let left = rowsMax; left > 0; ) {
      const step = await this.#connections.transaction(session =>
        buildStep(session, this.#keysOf, container.number, number, left),
      )
      if (step === 'ready') {
        await this.#copy.settle()
        return true
      }
      left -= step
    }
    return false
  }
}

/**
 * Makes entries for a part of one bucket, under its lock: otherwise an item that is written meanwhile could
 * get entries of its old body. Empty buckets are skipped: later writers to them know the index. Locks are
 * taken in the order of `functions.ts`, the row of the index last. If another gateway has built this part
 * meanwhile, nothing is done.
 */
async function buildStep(
  session: PostgresSession,
  keysOf: KeyMaker,
  container: number,
  number: number,
  rowsMax: number,
): Promise<number | 'ready'> {
  const select = 'SELECT * FROM mayfly.indexes WHERE container = $1 AND number = $2'
  const [built] = (await session.query(select, [container, number])).rows as (IndexRow & Progress)[]
  if (built === undefined || built.is_ready) return 'ready'
  const next = await session.query(
    'SELECT min(bucket) AS bucket FROM mayfly.counters WHERE container = $1 AND bucket >= $2 AND rows > 0',
    [container, built.built_bucket],
  )
  const bucket: number | null = next.rows[0].bucket
  if (bucket === null) {
    await bump(session)
    await session.query('UPDATE mayfly.indexes SET is_ready = true WHERE container = $1 AND number = $2', [
      container,
      number,
    ])
    await touchIndexes(session, container)
    return 'ready'
  }
  await lockBuckets(session, [{ container, bucket }])
  const from = bucket === built.built_bucket ? built : beginning
  const { rows } = await session.query(
    `SELECT epk, pk, long_pk, id, sequence, body, bytes FROM mayfly.items
     WHERE container = $1 AND bucket = $2 AND (epk, pk, id) > ($3, $4, $5) ORDER BY epk, pk, id LIMIT $6`,
    [container, bucket, from.built_epk, from.built_pk, from.built_id, rowsMax],
  )
  const findings = noFindings()
  const index = toIndex(built)
  const entries = (rows as UnbuiltRow[]).flatMap(row => {
    const item = { pk: (row.long_pk ?? row.pk).toString(), body: bodyOf(row) }
    return entriesOf(keysOf, [index], item, findings).map(({ key }) => ({ row, key }))
  })
  await noteFindings(session, container, findings)
  const [now] = (await session.query(`${select} FOR UPDATE`, [container, number])).rows
  if (now === undefined) return 'ready'
  if (progressText(now) !== progressText(built)) return 0
  await enter(session, { container, bucket, number, entries })
  const last = rows.length < rowsMax ? undefined : rows.at(-1)
  await session.query(
    `UPDATE mayfly.indexes SET built_bucket = $3, built_epk = $4, built_pk = $5, built_id = $6
     WHERE container = $1 AND number = $2`,
    [container, number, last ? bucket : bucket + 1, last?.epk ?? '', last?.pk ?? nothing, last?.id ?? nothing],
  )
  return rows.length
}

interface Progress {
  built_bucket: number
  built_epk: string
  built_pk: Buffer
  built_id: Buffer
}

interface UnbuiltRow extends BodyColumns {
  epk: string
  pk: Buffer
  long_pk: Buffer | null
  id: Buffer
  sequence: number
}

const nothing = Buffer.alloc(0)
const beginning = { built_epk: '', built_pk: nothing, built_id: nothing }

function progressText({ built_bucket, built_epk, built_pk, built_id }: Progress): string {
  return JSON.stringify([built_bucket, built_epk, built_pk, built_id])
}

async function enter(
  session: PostgresSession,
  step: { container: number; bucket: number; number: number; entries: readonly { row: UnbuiltRow; key: Buffer }[] },
): Promise<void> {
  const { container, bucket, number, entries } = step
  if (entries.length === 0) return
  await session.query(
    `INSERT INTO mayfly.entries (container, bucket, number, key, sequence, epk, pk, id)
     SELECT $1, $2, $3, w.* FROM unnest($4::bytea[], $5::bigint[], $6::text[], $7::bytea[], $8::bytea[]) w
     ON CONFLICT DO NOTHING`,
    [
      container,
      bucket,
      number,
      entries.map(({ key }) => key),
      entries.map(({ row }) => row.sequence),
      entries.map(({ row }) => row.epk),
      entries.map(({ row }) => row.pk),
      entries.map(({ row }) => row.id),
    ],
  )
}
