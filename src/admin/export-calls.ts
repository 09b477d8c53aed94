/** The admin calls that read data: the list of containers, the items of one, and the rows of a query. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RequestError } from '../base/error.ts'
import type { MemoryLease } from '../base/memory-account.ts'
import { inSlices } from '../base/slices.ts'
import { bytesInSteps } from '../document/long-text.ts'
import type { Engine } from '../engine/engine.ts'
import { exportRows, oneLine } from '../engine/export-rows.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import { requireContainer, requireDatabase } from './named-resource.ts'
import { type AnswerParts, sendPieces } from './streamed-answer.ts'

/**
 * `GET /_mayfly/export/{db}/{container}`: items as JSON Lines; with `?keepTtl=no` without their deadlines.
 */
export async function answerExport(
  { engine, memory }: AnswerParts,
  [database, container]: readonly string[],
  query: URLSearchParams,
  req: IncomingMessage,
  res: ServerResponse,
): Promise<void> {
  if (req.method !== 'GET') throw new RequestError('method_not_allowed', 'Items are exported with GET.')
  if (database === undefined || container === undefined) {
    throw new RequestError('malformed', 'Name the database and the container: GET /_mayfly/export/{db}/{container}.')
  }
  const found = await requireContainer(engine, database, container)
  const keepsLife = query.get('keepTtl') !== 'no'
  await sendPieces(res, memory, { 'content-type': 'application/x-ndjson' }, (signal, held) =>
    lines(exportRows(engine, found, { keepsLife, signal }), held),
  )
}

/** The rows of a query as JSON texts, page by page. */
export type QueryRows = (
  container: ContainerRecord,
  query: { readonly text: string },
  signal: AbortSignal,
) => AsyncIterableIterator<readonly string[]>

/** `POST /_mayfly/query/{db}/{container}`: the body is `{"query": "…"}`. */
export async function answerQuery(
  { engine, memory, queryRows }: AnswerParts & { readonly queryRows: QueryRows },
  [database, container]: readonly string[],
  body: unknown,
  res: ServerResponse,
): Promise<void> {
  const { query } = (body ?? {}) as { query?: unknown }
  if (database === undefined || container === undefined || typeof query !== 'string') {
    throw new RequestError('malformed', 'Send {"query": "…"} to POST /_mayfly/query/{db}/{container}.')
  }
  const found = await requireContainer(engine, database, container)
  await sendPieces(res, memory, { 'content-type': 'application/x-ndjson' }, (signal, held) =>
    lines(queryRows(found, { text: query }, signal), held),
  )
}

async function* lines(pages: AsyncIterable<readonly string[]>, held: MemoryLease): AsyncGenerator<Uint8Array> {
  for await (const rows of pages) {
    held.set(rows.reduce((sum, { length }) => sum + length, 0))
    yield await inSlices(bytesInSteps(rows.flatMap(row => [oneLine(row), '\n'])))
  }
}

interface ListContext {
  readonly engine: Engine
  readonly diesByDates: (container: ContainerRecord) => boolean
}

/** `GET /_mayfly/containers?db=…`: databases and containers, with counts. */
export async function listContainers(context: ListContext, database: string | null): Promise<object> {
  const { engine } = context
  const databases = database === null ? await engine.catalog.databases() : [await requireDatabase(engine, database)]
  const listed = []
  for (const each of databases) {
    const containers = []
    for (const container of await engine.catalog.containers(each)) containers.push(await shown(context, container))
    listed.push({ id: each.id, containers })
  }
  return { databases: listed }
}

async function shown({ engine, diesByDates }: ListContext, container: ContainerRecord): Promise<object> {
  const { id, encoding, partitionKey, definition } = container
  const { living, backlog, defaultTtl } = await engine.reports.ttlStatus(container)
  const nextDeath = (await engine.reports.nextToDie(container))?.dies ?? null
  const isDocuments = encoding === 'bson'
  return {
    id,
    api: isDocuments ? 'mongo' : 'nosql',
    partitionKey: isDocuments ? ((definition as { shardKey?: readonly string[] }).shardKey ?? []) : partitionKey.paths,
    defaultTtl,
    living,
    backlog,
    nextDeath,
    ...(!isDocuments && { definition }),
    ...(diesByDates(container) && { diesByDates: true }),
  }
}
