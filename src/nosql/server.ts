/** Handles one request: authorizes it, runs its handler, and always sends exactly one answer. */

import { MayflyError } from '../base/error.ts'
import { newActivityId } from '../base/identifier.ts'
import type { Logger } from '../base/log.ts'
import { andThen } from '../base/maybe-promise.ts'
import { ScriptRunner } from '../scripts/script-runner.ts'
import { UserDefinedFunctions } from '../scripts/user-defined-functions.ts'
import { Authorizer } from './access/authorize.ts'
import { type Address, resolveAddress } from './access/resource-address.ts'
import { checkGrant, checkGrantLives, type Grant, readToken } from './access/resource-token.ts'
import { publicError } from './http/error-map.ts'
import { hasFlag, isQuery, type NosqlRequest, partitionKeyHeader, type Service } from './http/request.ts'
import { checkPriority } from './http/request-priority.ts'
import { type NosqlResponse, send, sendError } from './http/response.ts'
import type { HttpRequest, Reply } from './http/transport.ts'
import { binaryJsonToText, isBinaryJson } from './json/binary-json.ts'
import { findHandler, resourceTypeOf } from './routes.ts'

export interface NosqlOptions extends Omit<Service, 'scripts' | 'functions'> {
  readonly log: Logger
  /** Called for every answer with its status and charge. */
  readonly onAnswer: (status: number, chargeRu: number) => void
}

export interface NosqlServer extends AsyncDisposable {
  handle(request: HttpRequest, reply: Reply): void
  /** Answers a request that was not received completely. */
  refuse(request: Pick<HttpRequest, 'method' | 'url'>, reply: Reply, error: unknown): void
}

export function nosqlServer(options: NosqlOptions): NosqlServer {
  const { log, onAnswer, engine, key, strict } = options
  const authorizer = new Authorizer(key)
  const service: Service = { engine, key, strict, scripts: new ScriptRunner(), functions: new UserDefinedFunctions() }

  function succeed(reply: Reply, activityId: string, response: NosqlResponse): void {
    onAnswer(response.status, response.chargeRu)
    send(reply, activityId, response)
  }

  function fail(
    { method, url }: Pick<HttpRequest, 'method' | 'url'>,
    reply: Reply,
    activityId: string,
    error: unknown,
  ): void {
    const shown = publicError(error)
    if (!(error instanceof MayflyError) || error.kind === 'internal') {
      log.error({ error, activityId, method, url }, 'a request failed in a way it should not')
    }
    onAnswer(shown.status, shown.chargeRu)
    sendError(reply, activityId, url, shown)
  }

  return {
    handle(http, reply) {
      const activityId = newActivityId()
      try {
        const response = andThen(
          resolveAddress(engine, http.url, single(http.headers[partitionKeyHeader])),
          address => {
            const grant = authorize(authorizer, key, http, address)
            checkPriority(http.headers)
            const { headers, origin } = http
            const body = isBinaryJson(http.body) ? binaryJsonToText(http.body) : http.body
            const request: NosqlRequest = { service, headers, origin, path: address.path, body, grant }
            const handler = findHandler(http.method, address.path)
            return grant === undefined ? handler(request) : checkGrantLives(engine, grant).then(() => handler(request))
          },
        )
        if (response instanceof Promise) {
          response.then(
            answer => succeed(reply, activityId, answer),
            error => fail(http, reply, activityId, error),
          )
        } else {
          succeed(reply, activityId, response)
        }
      } catch (error) {
        fail(http, reply, activityId, error)
      }
    },

    refuse: (request, reply, error) => fail(request, reply, newActivityId(), error),

    [Symbol.asyncDispose]: async () => {
      await service.scripts[Symbol.asyncDispose]()
      await service.functions[Symbol.asyncDispose]()
    },
  }
}

/** Returns the grant of a resource token. */
function authorize(
  authorizer: Authorizer,
  key: string,
  http: HttpRequest,
  { path, signedLink, otherSignedLink, signedType }: Address,
): Grant | undefined {
  const { method, headers } = http
  const { authorization } = headers
  const grant = authorization === undefined ? undefined : readToken(key, authorization)
  if (grant !== undefined) {
    const partitionKey = single(headers[partitionKeyHeader])
    checkGrant(grant, { path, method, isRead: isRead(http, path), partitionKey })
    return grant
  }
  authorizer.check(
    {
      verb: method.toLowerCase(),
      type: signedType ?? resourceTypeOf(path).toLowerCase(),
      link: signedLink,
      otherLink: otherSignedLink,
    },
    authorization,
    single(headers['x-ms-date'] ?? headers.date),
  )
  return undefined
}

/** A query is a POST to a feed, but it only reads. Other POST handlers ignore this header. */
function isRead({ method, headers }: HttpRequest, path: readonly string[]): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  if (method !== 'POST' || path.length % 2 === 0) return false
  return isQuery({ headers }) || (path.at(-1) === 'docs' && hasFlag({ headers }, 'x-ms-cosmos-is-query-plan-request'))
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
