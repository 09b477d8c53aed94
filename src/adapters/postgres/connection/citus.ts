/**
 * Citus: the same tables and functions, spread over the workers of a cluster.
 *
 * Tables with a bucket are distributed by it, so all rows that one write touches are on one shard. The
 * clock, the catalog with its policies, and the locks stay on the coordinator, so no two machines judge by
 * different seconds or policies. So gateways connect to the coordinator. Functions that touch a single
 * bucket run on the worker that has it.
 *
 * Shards may move to other workers at any time; nothing here knows where they are.
 */

import type { PostgresSession } from './connections.ts'

/** The other tables are colocated with the first. */
const tables = ['counters', 'items', 'entries', 'lanes', 'log'] as const

/** Run on the worker that has the bucket `b`. */
const functionsOfBuckets = ['write_rows', 'sweep_rows', 'version_since']
/** Called by the functions above, so every worker needs them. */
const functionsOfAll = ['print']

/** The first version with delegation from within transactions and metadata on all workers. */
const versionMin = 11

/** Why this node of a cluster cannot be used. */
export async function objectionToNode(session: PostgresSession): Promise<string | undefined> {
  const version = await versionOf(session)
  if (version === undefined) return undefined
  if (Number.parseInt(version, 10) < versionMin) {
    return `Citus ${version} is too old: Mayfly needs ${versionMin} or newer.`
  }
  const { rows } = await session.query('SELECT groupid FROM pg_catalog.pg_dist_local_group')
  return rows[0].groupid === 0 ? undefined : 'This is a worker of a Citus cluster. Give the address of its coordinator.'
}

/** Whether there is a cluster to distribute over: Citus with at least one worker. */
export async function hasWorkers(session: PostgresSession): Promise<boolean> {
  if ((await versionOf(session)) === undefined) return false
  const workers = `
    SELECT 1 FROM pg_catalog.pg_dist_node WHERE groupid <> 0 AND isactive AND noderole = 'primary' LIMIT 1`
  return (await session.query(workers)).rows.length > 0
}

/** Whether our tables are distributed. */
export async function isDistributed(session: PostgresSession): Promise<boolean> {
  return (await versionOf(session)) !== undefined && (await isTableDistributed(session, tables[0]))
}

/** undefined: it is not installed in this database. */
async function versionOf(session: PostgresSession): Promise<string | undefined> {
  const { rows } = await session.query(`SELECT extversion FROM pg_catalog.pg_extension WHERE extname = 'citus'`)
  return rows[0]?.extversion
}

/** Distributes the tables that are not distributed yet, with their rows. */
export async function distribute(session: PostgresSession): Promise<void> {
  const [first] = tables
  for (const table of tables) {
    if (await isTableDistributed(session, table)) continue
    const beside = table === first ? 'none' : `mayfly.${first}`
    await session.query(`SELECT create_distributed_table($1, 'bucket', colocate_with => $2)`, [
      `mayfly.${table}`,
      beside,
    ])
    await session.query('SELECT truncate_local_data_after_distributing_table($1)', [`mayfly.${table}`])
  }
  for (const name of await signatures(session, functionsOfAll)) {
    await session.query('SELECT create_distributed_function($1)', [name])
  }
  for (const name of await signatures(session, functionsOfBuckets)) {
    await session.query(`SELECT create_distributed_function($1, 'b', colocate_with => $2, force_delegation => true)`, [
      name,
      `mayfly.${first}`,
    ])
  }
}

async function isTableDistributed(session: PostgresSession, table: string): Promise<boolean> {
  const there = 'SELECT 1 FROM pg_catalog.pg_dist_partition WHERE logicalrelid = $1::regclass'
  return (await session.query(there, [`mayfly.${table}`])).rows.length > 0
}

async function signatures(session: PostgresSession, names: readonly string[]): Promise<string[]> {
  const { rows } = await session.query(
    `SELECT p.oid::regprocedure::text AS name FROM pg_catalog.pg_proc p
     WHERE p.pronamespace = 'mayfly'::regnamespace AND p.proname = ANY ($1)`,
    [names],
  )
  return rows.map(({ name }) => name)
}
