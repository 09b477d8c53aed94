/**
 * Where the servers of tests keep their data: in memory, or each in a database of its own in the PostgreSQL
 * that MAYFLY_TEST_STORE names. `conformance/over-postgres.test.ts` and `over-citus.test.ts` set it and run
 * the suites of clients again.
 */

import { randomUUID } from 'node:crypto'
import { createDatabase } from './databases.ts'

const maintenance = process.env.MAYFLY_TEST_STORE ?? ''

/** What the names of these databases begin with. */
export const suiteDatabases = 'mayfly_suite_'

/** As the server's status calls it. */
export const storeName = maintenance === '' ? 'sqlite (memory)' : 'postgres'

export async function testStore(): Promise<{ store?: string }> {
  if (maintenance === '') return {}
  const name = `${suiteDatabases}${randomUUID().replaceAll('-', '')}`
  return { store: await createDatabase(maintenance, name) }
}
