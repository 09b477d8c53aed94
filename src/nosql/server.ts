/** Handles one request: authorizes it, runs its handler, and always sends exactly one answer. */

import { wellKnownKey } from '../base/account-keys.ts'
import type { OnAnswer } from '../base/answered.ts'
import { machine } from '../base/clock.ts'
import { MayflyError } from '../base/error.ts'
import { heavyBytesMin, heavyTurnFor, stepsInHeavyTurns } from '../base/heavy-turns.ts'
import type { HostNames } from '../base/host-names.ts'
import { newActivityId } from '../base/identifier.ts'
import { KiB, pageBytesMax, pageItemsDefault } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import { andThen, type MaybePromise } from '../base/maybe-promise.ts'
import { holding, type MemoryAccount, type MemoryLease, type MemoryShare } from '../base/memory-account.ts'
import { ScriptRunner } from '../scripts/script-runner.ts'
import { UserDefinedFunctions } from '../scripts/user-defined-functions.ts'
import { Authorizer } from './access/authorize.ts'
import { checkRole } from './access/entra-role.ts'
import { type EntraTokens, entraTokenOf } from './access/entra-tokens.ts'
import { type Address, resolveAddress } from './access/resource-address.ts'
import { checkGrant, checkGrantLives, type Grant, readToken } from './access/resource-token.ts'
import { type NosqlDoor, nosqlDoor } from './door.ts'
import { publicError } from './http/error-map.ts'
import { bytesInSteps, charsOf, type TextList } from './http/list-body.ts'
import { outcomeError } from './http/outcome-error.ts'
import { hasFlag, hasTriggers, isQuery, type NosqlRequest, partitionKeyHeader, type Service } from './http/request.ts'
import { checkPriority } from './http/request-priority.ts'
import { lightBody, type NosqlResponse, send, sendError } from './http/response.ts'
import type { HttpHead, HttpRequest, Reply } from './http/transport.ts'
import { binaryJsonToText, isBinaryJson } from './json/binary-json.ts'
import { operationName, unknownOperation } from './operation-name.ts'
import { findHandler, resourceTypeOf } from './routes.ts'

export interface NosqlOptions extends Omit<Service, 'scripts' | 'functions'> {
  readonly entra: EntraTokens
  readonly hostNames: HostNames
  readonly memory: MemoryAccount
  readonly log: Logger
  readonly onAnswer: OnAnswer
}

export interface NosqlServer extends AsyncDisposable {
  handle(request: HttpRequest, reply: Reply): void
  /**
   * Handles a request whose body is still to come. The body is taken only after the request was authorized.
   */
  receive(head: HttpHead, reply: Reply, takeBody: () => Promise<Buffer>): void
  /** Answers a request that is refused without being looked at. */
  refuse(request: Pick<HttpHead, 'method' | 'url'>, reply: Reply, error: unknown): void
}

/** A request that is not answered yet. */
interface Begun {
  readonly http: Pick<HttpHead, 'method' | 'url'> & Partial<Pick<HttpHead, 'headers'>>
  /** Known once it is authorized. */
  operation: string
  readonly startMs: number
}

export function nosqlServer(options: NosqlOptions): NosqlServer & { readonly door: NosqlDoor } {
  const { log, onAnswer, engine, keys, entra, strict, hostNames, memory } = options
  const authorizer = new Authorizer(keys)
  const service: Service = { engine, keys, strict, scripts: new ScriptRunner(), functions: new UserDefinedFunctions() }

  function tell({ http, operation, startMs }: Begun, activityId: string, status: number, chargeRu: number): void {
    const ms = machine.monotonicMs() - startMs
    const traceParent = http.headers === undefined ? undefined : single(http.headers.traceparent)
    onAnswer({ protocol: 'nosql', operation, status, chargeRu, ms, target: http.url, activityId, traceParent })
  }

  function succeed(
    begun: Begun & { readonly http: HttpHead },
    reply: Reply,
    activityId: string,
    response: NosqlResponse,
  ): MaybePromise<void> {
    const body = lightBody(response.body)
    if (typeof body !== 'string' && !Buffer.isBuffer(body))
      return writeInTurns(begun, reply, activityId, response, body)
    send(reply, activityId, response, body, bytes => holdAnswer(begun.http, bytes))
    tell(begun, activityId, response.status, response.chargeRu)
  }

  /** Writes a large answer in steps. Its memory counts as held while it waits for its turn. */
  async function writeInTurns(
    begun: Begun & { readonly http: HttpHead },
    reply: Reply,
    activityId: string,
    response: NosqlResponse,
    list: TextList,
  ): Promise<void> {
    const { http } = begun
    const chars = charsOf(list)
    const lease = holdAnswer(http, chars)
    try {
      const body = await stepsInHeavyTurns(bytesInSteps(list), http.share)
      lease.force(body.length - chars)
      send(reply, activityId, response, body, () => lease)
    } catch (error) {
      lease[Symbol.dispose]()
      throw error
    }
    tell(begun, activityId, response.status, response.chargeRu)
  }

  function fail(begun: Begun, reply: Reply, activityId: string, error: unknown): void {
    const { method, url } = begun.http
    const shown = publicError(error)
    if (!(error instanceof MayflyError) || error.kind === 'internal') {
      log.error({ error, activityId, method, url }, 'a request failed in a way it should not')
    }
    tell(begun, activityId, shown.status, shown.chargeRu)
    sendError(reply, activityId, url, shown)
  }

  /** Throws unless the request is allowed. Returns the grant if the request has a resource token. */
  function authorize(http: HttpHead, { path, signedLink, otherSignedLink, signedType }: Address): Grant | undefined {
    const { method, headers } = http
    const { authorization } = headers
    const signedGrant = authorization === undefined ? undefined : readToken(keys, authorization)
    if (signedGrant !== undefined) {
      const { grant, isWellKnown } = signedGrant
      if (isWellKnown) hostNames.check(headers.host, headers.origin)
      const partitionKey = single(headers[partitionKeyHeader])
      checkGrant(grant, { path, method, isRead: isRead(http, path), partitionKey })
      return grant
    }
    const token = authorization === undefined ? undefined : entraTokenOf(authorization)
    if (token !== undefined) {
      const bearer = entra.check(token)
      if (bearer.isWellKnown) hostNames.check(headers.host, headers.origin)
      checkRole(bearer, { path, method, isRead: isRead(http, path) })
      return undefined
    }
    const signed = {
      verb: method.toLowerCase(),
      type: signedType ?? resourceTypeOf(path).toLowerCase(),
      link: signedLink,
      otherLink: otherSignedLink,
    }
    const key = authorizer.check(signed, authorization, single(headers['x-ms-date'] ?? headers.date))
    if (key.isReadOnly) checkReadOnly(http, path)
    // Everybody knows this key, also a page on the Internet that reaches the server through a browser.
    if (key.text === wellKnownKey) hostNames.check(headers.host, headers.origin)
    return undefined
  }

  function execute(http: HttpHead, { path }: Address, grant: Grant | undefined, body: Buffer) {
    const { headers, origin, caller } = http
    const text = isBinaryJson(body) ? binaryJsonToText(body) : body
    const request: NosqlRequest = { service, headers, origin, caller, path, body: text, grant }
    const handler = findHandler(http.method, path)
    const run = () =>
      grant === undefined ? handler(request) : checkGrantLives(engine, grant).then(() => handler(request))
    if (isLight(http, path, body)) return run()
    if (http.method === 'GET') checkRoomForPage(http)
    const carryOut = () => onLease(http.share, body, run)
    return body.length >= heavyBytesMin || isLargePage(http) ? heavyTurnFor(carryOut, http.share) : carryOut()
  }

  function answer(http: HttpHead, reply: Reply, body: Buffer | (() => Promise<Buffer>)): void {
    const activityId = newActivityId()
    const begun = { http, operation: unknownOperation, startMs: machine.monotonicMs() }
    try {
      const response = andThen(resolveAddress(engine, http.url, single(http.headers[partitionKeyHeader])), address => {
        const grant = authorize(http, address)
        begun.operation = operationName(http, address.path)
        memory.checkRoom()
        checkPriority(http.headers)
        return typeof body === 'function'
          ? body().then(arrived => execute(http, address, grant, arrived))
          : execute(http, address, grant, body)
      })
      const done = andThen(response, made => succeed(begun, reply, activityId, made))
      if (done instanceof Promise) done.catch(error => fail(begun, reply, activityId, error))
    } catch (error) {
      fail(begun, reply, activityId, error)
    }
  }

  return {
    door: nosqlDoor(service),

    handle: (http, reply) => answer(http, reply, http.body),

    receive: answer,

    refuse: (http, reply, error) =>
      fail({ http, operation: unknownOperation, startMs: machine.monotonicMs() }, reply, newActivityId(), error),

    [Symbol.asyncDispose]: async () => {
      await service.scripts[Symbol.asyncDispose]()
      await service.functions[Symbol.asyncDispose]()
    },
  }
}

/** The size that an item of a feed is expected to have, when there is little memory left. */
const itemBytesExpected = 64 * KiB

/** Bodies from this size on are counted. */
const largeBodyBytes = 16 * KiB

/** Whether a request holds nothing worth counting: it names one resource, or brings one small item. */
function isLight({ method, headers }: HttpHead, path: readonly string[], body: Buffer): boolean {
  if (body.length >= largeBodyBytes) return false
  if (method === 'GET') return path.length % 2 === 0
  return path.at(-1) === 'docs' && !isQuery({ headers }) && !hasTriggers({ headers })
}

/** A page of a feed for which the client wants more items than the default. */
function isLargePage({ method, headers }: HttpHead): boolean {
  return method === 'GET' && Number(single(headers['x-ms-max-item-count'])) > pageItemsDefault
}

/**
 * Refuses a page if there may be no room for it. Its size is not known yet, but a page that finds no room at
 * the end would be made for nothing.
 */
function checkRoomForPage({ share, headers }: HttpHead): void {
  const items = Number(single(headers['x-ms-max-item-count']))
  const refusal = share.refusal(items > 0 ? Math.min(pageBytesMax, items * itemBytesExpected) : pageBytesMax)
  if (refusal !== undefined) throw refusal
}

/** Does work whose body and rows are counted until it is done. */
function onLease<T>(share: MemoryShare, body: Buffer, work: () => MaybePromise<T>): MaybePromise<T> {
  const lease = share.hold('work')
  const end = () => lease[Symbol.dispose]()
  try {
    // The body, and what is read from it.
    lease.add(2 * body.length)
    const result = holding(lease, work)
    if (result instanceof Promise) return result.finally(end)
    end()
    return result
  } catch (error) {
    end()
    throw error
  }
}

/**
 * Takes memory for an answer. The answer to a write is always sent. A page that finds no room is refused,
 * because the client can ask for it again.
 */
function holdAnswer({ method, headers, share }: HttpHead, bytes: number): MemoryLease {
  const lease = share.hold('answers')
  if (method === 'GET' || isQuery({ headers })) lease.add(bytes)
  else lease.force(bytes)
  return lease
}

/** Permissions contain tokens that may write, so a read-only key does not see them, as in the service. */
function checkReadOnly(http: HttpHead, path: readonly string[]): void {
  if (!isRead(http, path) || path[4] === 'permissions') throw outcomeError('notPermitted')
}

/** A query is a POST to a feed, but it only reads. Other POST handlers ignore this header. */
function isRead({ method, headers }: HttpHead, path: readonly string[]): boolean {
  if (method === 'GET' || method === 'HEAD') return true
  if (method !== 'POST' || path.length % 2 === 0) return false
  return isQuery({ headers }) || (path.at(-1) === 'docs' && hasFlag({ headers }, 'x-ms-cosmos-is-query-plan-request'))
}

function single(header: string | string[] | undefined): string | undefined {
  return Array.isArray(header) ? header[0] : header
}
