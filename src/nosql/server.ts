/** HTTP in, HTTP out: one request, one operation, one answer, whatever happens. */

import type { IncomingMessage, ServerResponse } from 'node:http'
import { MayflyError, RequestError } from '../base/error.ts'
import { newActivityId } from '../base/identifier.ts'
import { requestBytesMax } from '../base/limits.ts'
import type { Log } from '../base/log.ts'
import { Authorizer } from './authorize.ts'
import { publicError } from './error-map.ts'
import { type NosqlRequest, parsePath, type Service } from './request.ts'
import { type NosqlResponse, send, sendError } from './response.ts'
import { findHandler, resourceTypeOf } from './routes.ts'

export interface NosqlOptions extends Service {
  readonly log: Log
  /** Told of every answer: its status and what it cost. */
  readonly onAnswer: (status: number, chargeRu: number) => void
}

export function nosqlHandler(
  options: NosqlOptions,
): (req: IncomingMessage, res: ServerResponse, origin: string) => void {
  const { log, onAnswer } = options
  const authorizer = new Authorizer(options.key)

  return (req, res, origin) => {
    const activityId = newActivityId()

    function succeed(response: NosqlResponse): void {
      onAnswer(response.status, response.chargeRu)
      send(res, activityId, response)
    }

    function fail(error: unknown): void {
      const shown = publicError(error)
      if (!(error instanceof MayflyError) || error.kind === 'internal') {
        log.error({ error, activityId, method: req.method, url: req.url }, 'a request failed in a way it should not')
      }
      onAnswer(shown.status, 0)
      sendError(res, activityId, req.url ?? '/', shown)
    }

    function answer(body: Buffer): void {
      try {
        const path = parsePath(req.url ?? '/')
        authorize(authorizer, req, path)
        const handler = findHandler(req.method ?? 'GET', path)
        const request: NosqlRequest = { service: options, headers: req.headers, origin, path, body }
        const response = handler(request)
        if (response instanceof Promise) response.then(succeed).catch(fail)
        else succeed(response)
      } catch (error) {
        fail(error)
      }
    }

    if (req.method === 'GET' || req.method === 'DELETE' || req.method === 'HEAD') answer(noBody)
    else collectBody(req, answer, fail)
  }
}

const noBody = Buffer.alloc(0)

/**
 * Waits for the whole body. Most bodies arrive in one chunk, which is then used as it is; `for await` costs 8 us more.
 *
 * A body that is too large is refused as soon as that is known; the rest of it is read and dropped, because a connection
 * cut while the client is still sending would lose it the answer.
 */
function collectBody(req: IncomingMessage, done: (body: Buffer) => void, fail: (error: unknown) => void): void {
  let first: Buffer | undefined
  let more: Buffer[] | undefined
  let bytes = 0
  req.on('data', (chunk: Buffer) => {
    bytes += chunk.length
    if (bytes > requestBytesMax) {
      if (bytes - chunk.length <= requestBytesMax) fail(new RequestError('too_large', 'Request size is too large'))
      first = more = undefined
    } else if (first === undefined) {
      first = chunk
    } else {
      more ??= [first]
      more.push(chunk)
    }
  })
  req.on('end', () => {
    if (bytes <= requestBytesMax) done(more !== undefined ? Buffer.concat(more, bytes) : (first ?? noBody))
  })
}

/** Feeds are signed with the link of their owner, single resources with their own; offers with their bare id. */
function authorize(authorizer: Authorizer, req: IncomingMessage, path: readonly string[]): void {
  const type = resourceTypeOf(path)
  const isFeed = path.length % 2 === 1
  const link = type === 'offers' ? (path[1] ?? '').toLowerCase() : (isFeed ? path.slice(0, -1) : path).join('/')
  const { authorization } = req.headers
  const date = req.headers['x-ms-date'] ?? req.headers.date
  authorizer.check(
    { verb: (req.method ?? 'GET').toLowerCase(), type: type.toLowerCase(), link },
    authorization,
    Array.isArray(date) ? date[0] : date,
  )
}
