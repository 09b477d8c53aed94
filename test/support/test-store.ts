/**
 * Where the servers of tests keep their data: in memory, or each in a database of its own in the PostgreSQL that
 * MAYFLY_TEST_STORE names. `conformance/over-postgres.test.ts` sets it and runs the suites of clients again.
 */

import { randomUUID } from 'node:crypto'
import { Client } from 'pg'

const maintenance = process.env.MAYFLY_TEST_STORE ?? ''

/** As the server's status calls it. */
export const storeName = maintenance === '' ? 'sqlite (memory)' : 'postgres'

export async function testStore(): Promise<{ store?: string }> {
  if (maintenance === '') return {}
  const name = `mayfly_suite_${randomUUID().replaceAll('-', '')}`
  const client = new Client({ connectionString: maintenance })
  await client.connect()
  await client.query(`CREATE DATABASE ${name}`)
  await client.end()
  const url = new URL(maintenance)
  url.pathname = `/${name}`
  return { store: url.href }
}
