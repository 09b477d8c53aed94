/** Lists the databases and containers of a server, with counts. */

import type { ServerConnection } from './server-connection.ts'

export interface ListedContainer {
  readonly id: string
  readonly api: 'nosql' | 'mongo'
  readonly partitionKey: readonly string[]
  readonly defaultTtl: number | null
  readonly living: number
  readonly backlog: number
  /** A collection whose documents die by dates in their fields. */
  readonly diesByDates?: boolean
  /** The second at which the first living item will die; null: none will. */
  readonly nextDeath: number | null
  /** As in the REST protocol. A collection has none. */
  readonly definition?: object
}

export interface ListedDatabase {
  readonly id: string
  readonly containers: readonly ListedContainer[]
}

export async function listServer(connection: ServerConnection, database?: string): Promise<readonly ListedDatabase[]> {
  const query = { db: database }
  const { databases } = await connection.call<{ databases: ListedDatabase[] }>('GET', 'containers', { query })
  return databases
}
