/** Databases for tests: in one PostgreSQL, or on every node of a Citus cluster. */

import { Client } from 'pg'

export interface Node {
  readonly host: string
  readonly port: number
  readonly isCoordinator: boolean
}

/** Tests use triggers to make something slow or fail; Citus must be told to allow them. */
const options = '-c citus.enable_unsafe_triggers=on'

export async function query(url: string, text: string, values: unknown[] = []): Promise<unknown[]> {
  const client = new Client({ connectionString: url, options })
  await client.connect()
  try {
    return (await client.query(text, values.length === 0 ? undefined : values)).rows
  } finally {
    await client.end()
  }
}

/** The nodes that the database at this address knows, workers first; none without Citus. */
export async function nodesOf(url: string): Promise<Node[]> {
  const installed = await query(url, `SELECT 1 FROM pg_extension WHERE extname = 'citus'`)
  if (installed.length === 0) return []
  const text = `SELECT nodename AS host, nodeport AS port, groupid = 0 AS "isCoordinator" FROM pg_dist_node
    WHERE noderole = 'primary' ORDER BY groupid DESC`
  return (await query(url, text)) as Node[]
}

/** Creates a database. On a cluster it is on every node, and at most `workersMax` workers hold data. */
export async function createDatabase(maintenance: string, name: string, workersMax = 64): Promise<string> {
  const url = named(maintenance, name)
  const nodes = await nodesOf(maintenance)
  if (nodes.length === 0) await query(maintenance, `CREATE DATABASE ${name}`)
  for (const node of nodes) {
    await query(on(node, maintenance), `CREATE DATABASE ${name}`)
    await query(on(node, url), 'CREATE EXTENSION citus')
  }
  const coordinator = nodes.find(({ isCoordinator }) => isCoordinator)
  if (coordinator !== undefined) {
    await query(url, 'SELECT citus_set_coordinator_host($1, $2)', [coordinator.host, coordinator.port])
  }
  for (const worker of workersOf(nodes).slice(0, workersMax)) await addWorker(url, worker)
  return url
}

export function workersOf(nodes: readonly Node[]): Node[] {
  return nodes.filter(({ isCoordinator }) => !isCoordinator)
}

export async function addWorker(url: string, { host, port }: Node): Promise<void> {
  await query(url, 'SELECT citus_add_node($1, $2)', [host, port])
}

export async function dropDatabase(maintenance: string, name: string): Promise<void> {
  const nodes = await nodesOf(maintenance)
  if (nodes.length === 0) await query(maintenance, `DROP DATABASE ${name} WITH (FORCE)`)
  // The coordinator first; otherwise its background work would miss the workers.
  for (const node of nodes.toReversed()) {
    await query(on(node, maintenance), `DROP DATABASE IF EXISTS ${name} WITH (FORCE)`)
  }
}

/** The names of databases with this prefix. */
export async function databasesNamed(maintenance: string, beginning: string): Promise<string[]> {
  const text = `SELECT datname FROM pg_database WHERE datname LIKE $1 || '%'`
  return ((await query(maintenance, text, [beginning])) as { datname: string }[]).map(({ datname }) => datname)
}

function on({ host, port }: Node, url: string): string {
  const there = new URL(url)
  there.hostname = host
  there.port = String(port)
  return there.href
}

function named(url: string, database: string): string {
  const there = new URL(url)
  there.pathname = `/${database}`
  return there.href
}
