/**
 * Serves the paths beside the protocol: health, status, metrics, the certificate and the admin API. Many
 * servers are only asked for their health, so the code of the other paths is loaded with their first
 * request.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { RequestError } from '../base/error.ts'
import { definitionBytesMax } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import type { MemoryAccount } from '../base/memory-account.ts'
import { printIndexPath } from '../document/index-definition.ts'
import type { IndexRecord } from '../store/catalog.ts'
import type { AdminContext } from './api.ts'
import { publicError } from './error-map.ts'
import type { QueryRows } from './export-calls.ts'
import { checkAdmin, checkCaller, type GuardOptions } from './guard.ts'
import type { ImportSide } from './import-calls.ts'
import type { MetricsContext } from './metrics/metrics-text.ts'

export interface AdminOptions extends GuardOptions, AdminContext, MetricsContext {
  readonly log: Logger
  readonly version: string
  readonly storeName: string
  readonly uptimeMs: () => number
  readonly certificate: () => Promise<string>
  readonly imports: ImportSide
  readonly memory: MemoryAccount
  readonly queryRows: QueryRows
  /** Undefined if the data is in memory or in PostgreSQL. */
  readonly dataDirectory: string | undefined
}

interface Answer {
  readonly status?: number
  readonly type: string
  readonly body: string
}

type Page = (options: AdminOptions, req: IncomingMessage) => Promise<Answer>

const json = (value: unknown): Answer => ({ type: 'application/json', body: JSON.stringify(value) })

const pages: Readonly<Record<string, Page>> = {
  '/alive': async () => json({ alive: true }),
  '/ready': async ({ engine }) => {
    // A store that is away fails here, with 503.
    await engine.moment()
    return json({ ready: true })
  },
  '/status': async (options, req) => {
    checkAdmin(req, options)
    return json(await status(options))
  },
  '/metrics': async (options, req) => {
    checkAdmin(req, options)
    const { metricsText } = await import('./metrics/metrics-text.ts')
    return { type: 'text/plain; version=0.0.4', body: await metricsText(options) }
  },
  '/_explorer/emulator.pem': async (options, req) => {
    checkCaller(req, options)
    return { type: 'application/x-pem-file', body: await options.certificate() }
  },
}

/** Whether a path belongs here and not to the protocol. */
export function isAdminPath(url: string): boolean {
  const path = url.split('?', 1)[0]!
  return Object.hasOwn(pages, path) || path.startsWith('/_mayfly/')
}

export function adminHandler(options: AdminOptions): (req: IncomingMessage, res: ServerResponse) => void {
  return (req, res) => {
    answer(options, req, res).then(
      made => made && send(res, made.status ?? 200, made.type, made.body),
      error => {
        const { status, code, message } = publicError(error)
        if (status === 500) options.log.error({ error, url: req.url }, 'an admin call failed in a way it should not')
        if (!res.headersSent) send(res, status, 'application/json', JSON.stringify({ code, message }))
      },
    )
  }
}

/** Undefined: the answer was sent already. */
async function answer(options: AdminOptions, req: IncomingMessage, res: ServerResponse): Promise<Answer | undefined> {
  const { pathname, searchParams } = new URL(req.url ?? '/', 'http://localhost')
  const page = Object.hasOwn(pages, pathname) ? pages[pathname] : undefined
  if (page !== undefined) {
    if (req.method !== 'GET' && req.method !== 'HEAD') {
      throw new RequestError('method_not_allowed', `${pathname} can only be read.`)
    }
    return page(options, req)
  }
  if (!pathname.startsWith(adminPrefix)) throw new RequestError('not_found', `There is nothing at ${pathname}.`)
  checkAdmin(req, options)
  const path = pathname.slice(adminPrefix.length).split('/').map(decode)
  if (path[0] === 'import') {
    const { answerImport } = await import('./import-calls.ts')
    return json(await answerImport(options, path.slice(1), searchParams, req))
  }
  if (path[0] === 'backup' && path.length === 1) {
    const { answerBackup } = await import('./backup-call.ts')
    await answerBackup(options, req, res)
    return undefined
  }
  if (path[0] === 'export') {
    const { answerExport } = await import('./export-calls.ts')
    await answerExport(options, path.slice(1), searchParams, req, res)
    return undefined
  }
  const body = await readBody(req)
  if (path[0] === 'query' && req.method === 'POST') {
    const { answerQuery } = await import('./export-calls.ts')
    await answerQuery(options, path.slice(1), body, res)
    return undefined
  }
  const { answerAdminCall } = await import('./api.ts')
  const made = await answerAdminCall(options, { method: req.method ?? 'GET', path, query: searchParams, body })
  return made === undefined ? { status: 204, type: '', body: '' } : json(made)
}

const adminPrefix = '/_mayfly/'

function decode(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    throw new RequestError('malformed', 'The path is not encoded properly.', { cause: error })
  }
}

/**
 * A body that is too large is read to its end and dropped. If its rest were left unread, the connection
 * would hang when it is used again.
 */
async function readBody(req: IncomingMessage): Promise<unknown> {
  const chunks: Buffer[] = []
  let bytes = 0
  for await (const chunk of req) {
    bytes += chunk.length
    if (bytes <= definitionBytesMax) chunks.push(chunk)
  }
  if (bytes > definitionBytesMax) throw new RequestError('too_large', 'The body is too large.')
  if (bytes === 0) return undefined
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'))
  } catch (error) {
    throw new RequestError('malformed', 'The body is not JSON.', { cause: error })
  }
}

async function status(options: AdminOptions): Promise<object> {
  const { clockState } = await import('./api.ts')
  const { engine, clock, counters, memory, version, storeName, uptimeMs } = options
  const databases = []
  for (const database of await engine.catalog.databases()) {
    const containers = []
    for (const container of await engine.catalog.containers(database)) {
      containers.push({
        id: container.id,
        ...(await engine.reports.ttlStatus(container)),
        indexes: container.indexes.map(showIndex),
      })
    }
    databases.push({ id: database.id, containers })
  }
  return {
    version,
    uptimeSeconds: Math.floor(uptimeMs() / 1000),
    clock: await clockState(engine, clock),
    store: storeName,
    rateLimit: engine.isRateLimited,
    purger: { paused: engine.purger.isPaused },
    requests: Object.fromEntries(counters.requests),
    requestUnits: counters.chargeRu,
    memory: { heldBytes: memory.heldBytes, heldBytesMax: memory.bytesMax, held: memory.heldByKind() },
    databases,
  }
}

function showIndex({ definition, isDeclared, isReady }: IndexRecord): object {
  const paths = definition.components.map(
    ({ path, isDescending }) => printIndexPath(path) + (isDescending ? ' DESC' : ''),
  )
  return { paths, declared: isDeclared, state: isReady ? 'ready' : 'building' }
}

function send(res: ServerResponse, status: number, type: string, body: string): void {
  res.writeHead(status, {
    ...(status !== 204 && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
    'cache-control': 'no-store',
    'x-content-type-options': 'nosniff',
  })
  res.end(body)
}
