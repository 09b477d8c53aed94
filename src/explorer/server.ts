/** Answers everything below `/_explorer/`: the files of the page, and the API that it talks to. */

import { randomBytes } from 'node:crypto'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import { epochMsWithin } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { isLoopback } from '../base/host-names.ts'
import { newActivityId } from '../base/identifier.ts'
import { holding } from '../base/memory-account.ts'
import { inSlices, nextSlice } from '../base/slices.ts'
import { drained } from '../base/slow-reader.ts'
import { bytesInSteps } from '../document/long-text.ts'
import { KeyAttempts } from './access/attempts.ts'
import { callerOf, checkIntent, checkMayCall, checkMayWrite, checkSender, type Visitor } from './access/guard.ts'
import { LoginSessions } from './access/sessions.ts'
import { isEncrypted, logIn, logOut, showSession } from './calls/session.ts'
import { acceptedCoding, PageFiles, securityHeaders } from './files/page-files.ts'
import { type ApiAnswer, type ApiCall, bodyBytesMax, readJson } from './http/call.ts'
import { showError } from './http/error-map.ts'
import { jsonPartsInSteps } from './http/json-text.ts'
import { LiveHub } from './live/hub.ts'
import { findRoute, MethodRefused } from './routes.ts'
import { Backlogs } from './service/backlogs.ts'
import { CountCache } from './service/count-cache.ts'
import { Jobs } from './service/jobs.ts'
import { RunningQueries } from './service/running-queries.ts'
import type { ExplorerOptions, ExplorerService } from './service/service.ts'

export interface ExplorerServer {
  handle(req: IncomingMessage, res: ServerResponse): void
  /** Ends live connections, queries and jobs. */
  close(): void
}

const prefix = '/_explorer'
const apiPrefix = `${prefix}/api/`

/** Smaller answers gain nothing by compression. */
const compressBytesMin = 1400

export function explorerServer(options: ExplorerOptions): ExplorerServer {
  const service: ExplorerService = {
    ...options,
    counts: new CountCache(),
    backlogs: new Backlogs(),
    jobs: new Jobs(),
    queries: new RunningQueries(),
    secret: randomBytes(32),
  }
  const { keys, hostNames, log } = options
  const sessions = new LoginSessions(keys)
  const attempts = new KeyAttempts()
  const files = new PageFiles(options.page)
  const guard = { keys, hostNames, sessions }
  const hub = new LiveHub(service)

  async function serveFile(req: IncomingMessage, res: ServerResponse, pathname: string): Promise<void> {
    if (pathname === prefix) {
      res.writeHead(308, { location: `${prefix}/`, ...securityHeaders, 'content-length': '0' })
      res.end()
      return
    }
    await files.serve(req, res, decodePath(pathname.slice(prefix.length + 1)))
  }

  async function serveCall(req: IncomingMessage, res: ServerResponse, url: URL): Promise<ApiAnswer> {
    const caller = callerOf(req, guard)
    const name = url.pathname.slice(apiPrefix.length)
    const gone = goneSignal(req, res)
    const call: ApiCall = {
      ...{ req, res, method: req.method ?? 'GET', names: [], query: url.searchParams, caller, gone },
      body: (bytesMax = bodyBytesMax) => readJson(req, options.memory, bytesMax),
    }
    if (name === 'session' || name === 'login' || name === 'logout') return serveSession(name, call)
    checkMayCall(req, caller)
    if (name === 'live') {
      if (req.method !== 'GET') throw new MethodRefused(req.method ?? '', ['GET'])
      const isValid = () => isStillValid(caller)
      return hub.open(call, isValid)
    }
    const { handler, names, isRead } = findRoute(call.method, name.split('/').map(decodePath))
    if (isRead !== true) checkMayWrite(caller)
    // Calls that arrive together have a turn of the event loop each.
    await nextSlice()
    using lease = options.memory.shareOf(req.socket).hold('work')
    const made = await holding(lease, () => handler(service, { ...call, names }))
    return made === 'streamed' || isRead !== true ? made : { ...made, isRead }
  }

  function isStillValid({ session }: Visitor): boolean {
    return session === undefined ? keys.isWellKnown : sessions.isValid(session)
  }

  async function serveSession(name: 'session' | 'login' | 'logout', call: ApiCall): Promise<ApiAnswer> {
    const { req, method } = call
    const wanted = name === 'session' ? 'GET' : 'POST'
    if (method !== wanted && !(wanted === 'GET' && method === 'HEAD')) throw new MethodRefused(method, [wanted])
    checkIntent(req)
    if (name === 'session') return showSession(service, call)
    if (name === 'logout') return logOut(call, sessions)
    const asIf = (token: string) =>
      callerOf(
        { ...pick(req), headers: { ...req.headers, cookie: `mayfly_session=${token}` } } as IncomingMessage,
        guard,
      )
    return logIn(service, call, { sessions, attempts, callerOf: asIf })
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const url = new URL(req.url ?? '/', 'http://localhost')
    checkSender(req, guard)
    if (!url.pathname.startsWith(apiPrefix)) {
      await serveFile(req, res, url.pathname)
      return
    }
    const made = await serveCall(req, res, url)
    if (made !== 'streamed') await send(req, res, made)
  }

  async function send(req: IncomingMessage, res: ServerResponse, made: Exclude<ApiAnswer, 'streamed'>): Promise<void> {
    const { status = 200, headers = {} } = made
    const json = 'json' in made ? await inSlices(jsonPartsInSteps(made.json)) : undefined
    const shared = { ...apiHeaders, ...(await timeHeader()), ...headers }
    if (json === undefined) {
      res.writeHead(status, shared)
      res.end()
      return
    }
    const bytes = await inSlices(bytesInSteps(json))
    const isLong = bytes.length >= compressBytesMin && acceptedCoding(req.headers['accept-encoding']) !== undefined
    const isGzip = isLong && String(req.headers['accept-encoding']).includes('gzip')
    const body = isGzip ? await promisify(gzip)(bytes, { level: 1 }) : bytes
    const lease = options.memory.shareOf(req.socket).hold('answers')
    // What was written is answered in any case. What was read can be asked for again.
    if (made.isRead === true) lease.add(body.length)
    else lease.force(body.length)
    res.once('close', () => lease[Symbol.dispose]())
    res.writeHead(status, {
      ...shared,
      'content-type': 'application/json; charset=utf-8',
      'content-length': String(body.length),
      vary: 'accept-encoding',
      ...(isGzip && { 'content-encoding': 'gzip' }),
    })
    res.end(req.method === 'HEAD' ? undefined : body)
    // Not awaited: until then all forms of the answer would stay in memory.
    if (res.writableNeedDrain || req.socket.writableNeedDrain) drained(res).catch(() => res.destroy())
  }

  async function timeHeader(): Promise<Readonly<Record<string, string>>> {
    try {
      return { 'x-mayfly-now': String(epochMsWithin(await options.engine.moment(), options.clock)) }
    } catch {
      // The store is away; the answer says so.
      return {}
    }
  }

  async function fail(req: IncomingMessage, res: ServerResponse, error: unknown): Promise<void> {
    const activityId = newActivityId()
    const { status, body, isOurs } = showError(error, activityId)
    if (isOurs) log.error({ error, activityId, url: req.url }, 'a call of the explorer failed in a way it should not')
    if (res.headersSent) {
      res.destroy()
      return
    }
    const headers = error instanceof MethodRefused ? { allow: error.allowed.join(', ') } : {}
    // The rest of a refused body would be taken for the next request.
    if (!req.complete) res.once('finish', () => req.resume())
    await send(req, res, { status, json: body, headers })
  }

  return {
    handle: (req, res) => {
      // On other connections browsers ignore this header, and complain.
      if (isEncrypted(req) || isLoopback(req.socket.remoteAddress)) {
        res.setHeader('cross-origin-opener-policy', 'same-origin')
      }
      answer(req, res)
        .catch(error => fail(req, res, error))
        .catch(error => {
          log.error({ error, url: req.url }, 'an answer of the explorer could not be sent')
          res.destroy()
        })
    },
    close: () => {
      hub.close()
      service.queries.cancelAll()
      service.jobs.cancelAll()
    },
  }
}

const apiHeaders: Readonly<Record<string, string>> = { ...securityHeaders, 'cache-control': 'no-store' }

function pick({ socket, method }: IncomingMessage): object {
  return { socket, method }
}

function goneSignal(req: IncomingMessage, res: ServerResponse): AbortSignal {
  const controller = new AbortController()
  res.once('close', () => {
    if (!res.writableFinished) controller.abort()
  })
  req.once('aborted', () => controller.abort())
  return controller.signal
}

function decodePath(segment: string): string {
  try {
    return decodeURIComponent(segment)
  } catch (error) {
    throw new RequestError('malformed', 'The path is not encoded properly.', { cause: error })
  }
}
