/**
 * Where the servers of tests keep their data: in memory, or each in its own database in the PostgreSQL that
 * MAYFLY_TEST_STORE names. `conformance/over-postgres.test.ts` and `over-citus.test.ts` set it and run the
 * client suites again.
 */

import { randomUUID } from 'node:crypto'
import { createDatabase } from './databases.ts'

const maintenance = process.env.MAYFLY_TEST_STORE ?? ''

/** The prefix of these databases. */
export const suiteDatabases = 'mayfly_suite_'

/** The name in the server's status. */
export const storeName = maintenance === '' ? 'sqlite (memory)' : 'postgres'

export async function testStore(): Promise<{ store?: string }> {
  if (maintenance === '') return {}
  const name = `${suiteDatabases}${randomUUID().replaceAll('-', '')}`
  return { store: await createDatabase(maintenance, name) }
}
