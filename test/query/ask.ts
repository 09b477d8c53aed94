/** Sends one page of a query with headers chosen by the test, and reports what the server read for it. */

import assert from 'node:assert/strict'
import type { Container } from '@azure/cosmos'
import type { SqlValue } from '../../src/sql/values/value.ts'
import type { RawAnswer } from '../support/signed-request.ts'
import { pathOf, type TestServer } from '../support/start-server.ts'

export type Headers = Readonly<Record<string, string | undefined>>

export interface Asked {
  readonly rows: SqlValue[]
  /** Items that the server read. */
  readonly itemsRead: number
  readonly used: readonly string[]
  readonly wished: readonly string[]
  readonly continuation: string | undefined
}

/** Asks the first physical partition, unless the headers name another. */
export function sendQuery(
  server: TestServer,
  container: Container,
  query: unknown,
  { headers = {}, parameters }: { headers?: Headers; parameters?: unknown } = {},
): Promise<RawAnswer> {
  return server.send({
    method: 'POST',
    path: pathOf(container, 'docs'),
    headers: {
      'x-ms-documentdb-isquery': 'true',
      'content-type': 'application/query+json',
      'x-ms-documentdb-partitionkeyrangeid': '0',
      'x-ms-documentdb-query-enablecrosspartition': 'true',
      'x-ms-documentdb-populatequerymetrics': 'true',
      'x-ms-cosmos-populateindexmetrics-v2': 'true',
      ...headers,
    },
    body: { query, ...(parameters === undefined ? {} : { parameters }) },
  })
}

export async function ask(server: TestServer, container: Container, query: string, headers?: Headers): Promise<Asked> {
  const answer = await sendQuery(server, container, query, headers === undefined ? {} : { headers })
  assert.equal(answer.status, 200, answer.text)
  const metrics = String(answer.headers['x-ms-documentdb-query-metrics'])
  const use = JSON.parse(decodeURIComponent(String(answer.headers['x-ms-cosmos-index-utilization'])))
  const specs = (part: { SingleIndexes: { IndexSpec: string }[] }) =>
    part.SingleIndexes.map(({ IndexSpec }) => IndexSpec)
  return {
    rows: answer.json.Documents,
    itemsRead: Number(/retrievedDocumentCount=(\d+)/.exec(metrics)![1]),
    used: specs(use.UtilizedIndexes),
    wished: specs(use.PotentialIndexes),
    continuation: answer.headers['x-ms-continuation'] as string | undefined,
  }
}

/** All rows, page by page. */
export async function askAll(
  server: TestServer,
  container: Container,
  query: string,
  pageSize: number,
  continuation?: string,
): Promise<SqlValue[]> {
  const rows: SqlValue[] = []
  let next = continuation
  do {
    const page: Asked = await ask(server, container, query, {
      'x-ms-max-item-count': String(pageSize),
      'x-ms-continuation': next,
    })
    rows.push(...page.rows)
    next = page.continuation
  } while (next !== undefined)
  return rows
}
