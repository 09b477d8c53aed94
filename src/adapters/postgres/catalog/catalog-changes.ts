/** Parts of catalog changes; they run inside the transaction of the change. */

import type { EpochSeconds } from '../../../base/clock.ts'
import type { CatalogNote, ContainerRecord, Epitaph, IndexRecord } from '../../../store/catalog.ts'
import { toContainer, toDatabase, toIndex } from '../../catalog-rows.ts'
import { type IndexFindings, isNothing } from '../../index-findings.ts'
import type { PostgresSession } from '../connection/connections.ts'
import { markSql, nextTick } from '../sql/ticks.ts'

/** Locks the catalog. After the commit every gateway finds that its copy is old. */
export function bump(session: PostgresSession): Promise<unknown> {
  return session.query('UPDATE mayfly.catalog SET version = version + 1 WHERE one = 1')
}

/**
 * Stores what was learned about indexes in their records. Writers do it in a transaction of its own, before
 * they write: in a cluster the catalog and the items are on two machines, and what was learned must not be
 * lost when one of them stops.
 */
export async function noteFindings(
  session: PostgresSession,
  container: number,
  findings: IndexFindings,
): Promise<void> {
  if (isNothing(findings)) return
  const { cut, gaps, several } = findings
  await Promise.all([
    bump(session),
    session.query(
      `UPDATE mayfly.indexes SET has_cut_keys = has_cut_keys OR number = ANY ($2),
         has_gaps = has_gaps OR number = ANY ($3),
         has_several_keys = has_several_keys OR number = ANY ($4) WHERE container = $1`,
      [container, [...cut], [...gaps], [...several]],
    ),
    touchIndexes(session, container),
  ])
}

/** Stores the findings of several containers, by the numbers of the containers. */
export async function noteAllFindings(
  session: PostgresSession,
  all: ReadonlyMap<number, IndexFindings>,
): Promise<void> {
  await Promise.all([...all].map(([container, findings]) => noteFindings(session, container, findings)))
}

export function touchIndexes(session: PostgresSession, container: number): Promise<unknown> {
  return session.query('UPDATE mayfly.containers SET indexes_version = indexes_version + 1 WHERE number = $1', [
    container,
  ])
}

/** The counter rows are deleted too, so the next writer finds that the container is gone. */
export async function deleteContainer(session: PostgresSession, number: number): Promise<boolean> {
  await session.query('DELETE FROM mayfly.counters WHERE container = $1', [number])
  const { rowCount } = await session.query('DELETE FROM mayfly.containers WHERE number = $1', [number])
  if (rowCount === 0) return false
  await session.query('DELETE FROM mayfly.indexes WHERE container = $1', [number])
  await session.query('DELETE FROM mayfly.doomed_indexes WHERE container = $1', [number])
  await session.query('INSERT INTO mayfly.doomed VALUES ($1)', [number])
  return true
}

/**
 * Stores a note about a container, or about a database with its number negated. Must run while the clock is
 * held. Returns its tick.
 */
export async function appendNote(
  session: PostgresSession,
  subject: number,
  { body, endsName }: CatalogNote,
  ts: EpochSeconds,
): Promise<number> {
  await session.query(`SELECT ${markSql}`)
  const atSql = `(date_part('epoch', clock_timestamp()) * 1000000)::bigint`
  const { tick, at } = (await session.query(`SELECT ${nextTick} AS tick, ${atSql} AS at`)).rows[0]
  await session.query(
    `INSERT INTO mayfly.log (container, bucket, number, kind, epk, pk, id, version, sequence, ts, at, bytes, tick)
     VALUES ($1, 0, $2, $3, '', '', '', 0, 0, $4, $5, $6, $7)`,
    [subject, -tick, endsName === true ? 'end' : 'note', ts, at, Buffer.from(body), tick],
  )
  return tick
}

/**
 * Adds the last note about a deleted container or database, and keeps its log for the journal until
 * `keptSeconds` are over. Returns the tick of the note.
 */
export async function leaveEpitaph(
  session: PostgresSession,
  subject: number,
  epitaph: Epitaph,
  ts: EpochSeconds,
): Promise<number> {
  const until = ts + epitaph.keptSeconds
  await session.query(
    `INSERT INTO mayfly.kept_logs VALUES ($1, $2)
     ON CONFLICT (container) DO UPDATE SET until = greatest(kept_logs.until, excluded.until)`,
    [subject, until],
  )
  return appendNote(session, subject, epitaph, ts)
}

/**
 * Waits until no writer of the container is left, and keeps out new ones until the transaction ends. It
 * locks by an update, because a cluster refuses SELECT FOR UPDATE over several shards.
 */
export async function waitForWriters(session: PostgresSession, container: number): Promise<void> {
  await session.query('UPDATE mayfly.counters SET lsn = lsn WHERE container = $1', [container])
}

export async function loadContainer(session: PostgresSession, number: number): Promise<ContainerRecord | undefined> {
  const { rows } = await session.query('SELECT * FROM mayfly.containers WHERE number = $1 FOR UPDATE', [number])
  if (rows.length === 0) return undefined
  const owner = await session.query('SELECT * FROM mayfly.databases WHERE number = $1', [rows[0].database])
  return toContainer(rows[0], toDatabase(owner.rows[0]), await loadIndexes(session, number))
}

async function loadIndexes(session: PostgresSession, container: number): Promise<IndexRecord[]> {
  const { rows } = await session.query('SELECT * FROM mayfly.indexes WHERE container = $1 ORDER BY number', [container])
  return rows.map(toIndex)
}
