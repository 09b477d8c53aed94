/** The admin calls of an import: find or create the container, and store rows. */

import type { IncomingMessage } from 'node:http'
import { RequestError } from '../base/error.ts'
import { MiB } from '../base/limits.ts'
import type { MemoryAccount, MemoryLease } from '../base/memory-account.ts'
import type { Engine } from '../engine/engine.ts'
import { hasRoom, type ImportEdge, ImportWriter } from '../engine/import-writer.ts'
import type { ContainerRecord } from '../store/catalog.ts'
import { RowFrames } from '../transfer/frames.ts'
import { type InputRow, rowBytesMax } from '../transfer/input.ts'
import { type KeepTtl, keepTtlModes } from '../transfer/keep-ttl.ts'
import { importModes } from '../transfer/target.ts'
import { requireContainer } from './named-resource.ts'

/**
 * The most bytes that a client must send again after an interruption: a batch of 8 MiB, whose last row may
 * be as long as a row can be. The rows are stored as they arrive, so that not all of them are held.
 */
const importBodyBytesMax = rowBytesMax + 12 * MiB

export interface ImportSide {
  /** The edge that reads rows for the container, of either API. */
  readonly edgeOf: (container: ContainerRecord, keepTtl: KeepTtl) => Promise<ImportEdge>
  readonly create: (wanted: NewImportContainer) => Promise<ContainerRecord>
}

export interface NewImportContainer {
  readonly api: 'nosql' | 'mongo'
  readonly database: string
  readonly container: string
  /** `/pk`, or `/a,/b`. A collection has none, or a shard key of one field. */
  readonly partitionKey: string | undefined
  /** The rest of a container's definition, as in the REST protocol. */
  readonly definition: Readonly<Record<string, unknown>>
}

interface ImportContext {
  readonly engine: Engine
  readonly imports: ImportSide
  readonly memory: MemoryAccount
}

/**
 * `POST /_mayfly/import/{db}/{container}` with an empty body finds the container, and with
 * `?create=nosql|mongo` creates it; with rows it stores them.
 */
export async function answerImport(
  { engine, imports, memory }: ImportContext,
  [database, container]: readonly string[],
  query: URLSearchParams,
  req: IncomingMessage,
): Promise<object> {
  if (req.method !== 'POST') throw new RequestError('method_not_allowed', 'Rows are imported with POST.')
  if (database === undefined || container === undefined) {
    throw new RequestError('malformed', 'Name the database and the container: POST /_mayfly/import/{db}/{container}.')
  }
  using lease = memory.shareOf(req.socket).hold('bodies')
  const parts = partsOf(req, lease)
  try {
    const first = await parts.next()
    const call = { database, container, query, first: first.done === true ? undefined : first.value, parts }
    return await answerRows({ engine, imports }, call, req)
  } catch (error) {
    // The rest of the body is read, so that the connection stays usable. A body that is too large is not
    // read.
    if (!(error instanceof RequestError) || error.kind !== 'too_large') await readToEnd(req)
    throw error
  }
}

interface ImportCall {
  readonly database: string
  readonly container: string
  readonly query: URLSearchParams
  /** Undefined: the body is empty. */
  readonly first: readonly InputRow[] | undefined
  readonly parts: AsyncGenerator<readonly InputRow[]>
}

async function answerRows(
  { engine, imports }: Pick<ImportContext, 'engine' | 'imports'>,
  { database, container, query, first, parts }: ImportCall,
  req: IncomingMessage,
): Promise<object> {
  const create = oneOf(query, 'create', ['nosql', 'mongo', 'no'] as const, 'no')
  if (create !== 'no' && (await engine.catalog.findContainer(database, container)) === undefined) {
    const partitionKey = query.get('partitionKey') ?? undefined
    await imports.create({ api: create, database, container, partitionKey, definition: definitionIn(query) })
  }
  const found = await requireContainer(engine, database, container)
  if (first === undefined) return shown(found)
  const mode = oneOf(query, 'mode', importModes, 'create')
  const keepTtl = oneOf(query, 'keepTtl', keepTtlModes, 'reset')
  const from = Number(query.get('from') ?? 0)
  if (!Number.isSafeInteger(from) || from < 0) throw new RequestError('malformed', '"from" is a number of rows.')
  const job = query.get('job') ?? undefined
  if (job !== undefined && !/^[\w-]{8,64}$/.test(job)) {
    throw new RequestError('malformed', '"job" has 8 to 64 letters, digits, - and _.')
  }
  const gone = new AbortController()
  req.once('close', () => gone.abort())
  const writer = new ImportWriter(engine, await imports.edgeOf(found, keepTtl), { mode, job, signal: gone.signal })
  return await writer.put(chained(first, parts), from)
}

function shown({ encoding, partitionKey, policy, rid, number }: ContainerRecord): object {
  const api = encoding === 'bson' ? 'mongo' : 'nosql'
  return { api, partitionKey: partitionKey.paths, defaultTtl: policy.defaultTtl, incarnation: `${number}-${rid}` }
}

function definitionIn(query: URLSearchParams): Readonly<Record<string, unknown>> {
  const ttl = query.get('defaultTtl')
  const given: unknown = parsedJson(query.get('definition') ?? '{}')
  if (typeof given !== 'object' || given === null || Array.isArray(given)) {
    throw new RequestError('malformed', '"definition" is a JSON object.')
  }
  return { ...given, ...(ttl !== null && { defaultTtl: Number(ttl) }) }
}

function parsedJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new RequestError('malformed', '"definition" is not JSON.', { cause: error })
  }
}

function oneOf<T extends string>(query: URLSearchParams, name: string, values: readonly T[], otherwise: T): T {
  const given = query.get(name) ?? otherwise
  const found = values.find(value => value === given)
  if (found !== undefined) return found
  throw new RequestError('malformed', `"${name}" is ${values.join(', ')}, not '${given}'.`)
}

const tooLarge = () => new RequestError('too_large', 'The rows are too large for one call.')

/** The rows of a body, as many at a time as are stored in one transaction. */
async function* partsOf(req: IncomingMessage, lease: MemoryLease): AsyncGenerator<readonly InputRow[]> {
  lease.share.account.checkRoom()
  if (Number(req.headers['content-length'] ?? 0) > importBodyBytesMax) throw tooLarge()
  const frames = new RowFrames()
  let rows: InputRow[] = []
  let rowBytes = 0
  let arrived = 0
  for await (const chunk of req.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
    arrived += chunk.length
    if (arrived > importBodyBytesMax) throw tooLarge()
    lease.add(chunk.length)
    for (const row of frames.add(chunk)) {
      rows.push(row)
      rowBytes += row.bytes.length
      if (hasRoom(rows.length, rowBytes)) continue
      yield rows
      lease.release(rowBytes)
      rows = []
      rowBytes = 0
    }
  }
  frames.end()
  if (rows.length > 0) yield rows
}

async function* chained<T>(first: T, rest: AsyncIterable<T>): AsyncGenerator<T> {
  yield first
  yield* rest
}

async function readToEnd(req: IncomingMessage): Promise<void> {
  if (req.readableEnded || req.destroyed) return
  await new Promise<void>(resolve => {
    req.once('end', resolve).once('close', resolve).resume()
  })
}
