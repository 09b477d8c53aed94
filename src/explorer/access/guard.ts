/**
 * Decides who may use the explorer.
 *
 * The well-known key protects nothing. With it, it is enough to be on this machine: the address of the
 * socket must be loopback (headers of a proxy do not count). With another key, users log in and have a
 * session. A read-only key may read but not write.
 *
 * Against pages of other origins: with the well-known key the Host must be a name of the server (DNS
 * rebinding); an Origin must be the server's own; and every call that is not a GET must have a header of our
 * own, which a browser sends for another origin only if the server allows it. This server never does.
 */

import type { IncomingMessage } from 'node:http'
import type { AccountKeys } from '../../base/account-keys.ts'
import { RequestError } from '../../base/error.ts'
import { checkOrigin, type HostNames, isLoopback } from '../../base/host-names.ts'
import { type LoginSessions, type Session, sessionCookie } from './sessions.ts'

export interface GuardParts {
  readonly keys: AccountKeys
  readonly hostNames: HostNames
  readonly sessions: LoginSessions
}

export interface Visitor {
  readonly needsLogin: boolean
  readonly session: Session | undefined
  readonly mayRead: boolean
  readonly mayWrite: boolean
  /** The scope of the names of queries and jobs. */
  readonly name: string
}

export const ownHeader = 'x-mayfly-explorer'

/** Checks Host and Origin, for every path of the explorer, also for its files. */
export function checkSender({ headers }: IncomingMessage, { keys, hostNames }: GuardParts): void {
  const { host, origin } = headers
  if (keys.isWellKnown) hostNames.check(host, origin)
  else checkOrigin(host, origin)
}

export function callerOf(req: IncomingMessage, { keys, sessions }: GuardParts): Visitor {
  const isOpen = keys.isWellKnown && isLoopback(req.socket.remoteAddress)
  const token = cookieOf(req)
  const session = token === undefined ? undefined : sessions.find(token)
  return {
    needsLogin: !isOpen,
    session,
    mayRead: isOpen || session !== undefined,
    mayWrite: isOpen || session?.isReadOnly === false,
    name: session?.id ?? 'local',
  }
}

export function checkMayCall(req: IncomingMessage, caller: Visitor): void {
  checkIntent(req)
  if (!caller.mayRead) throw new RequestError('unauthenticated', 'Log in with the account key first.')
}

/** A page of another origin cannot send this header. */
export function checkIntent({ method, headers }: IncomingMessage): void {
  if (method === 'GET' || method === 'HEAD') return
  if (headers[ownHeader] !== undefined) return
  throw new RequestError('forbidden', `A ${method} needs the header "${ownHeader}: 1".`)
}

export function checkMayWrite({ mayWrite }: Visitor): void {
  if (!mayWrite) throw new RequestError('forbidden', 'You logged in with a read-only key: you can look, not change.')
}

function cookieOf({ headers }: IncomingMessage): string | undefined {
  for (const part of (headers.cookie ?? '').split(';')) {
    const [name, value] = part.trim().split('=', 2)
    if (name === sessionCookie && value !== undefined) return value.slice(0, 100)
  }
  return undefined
}
