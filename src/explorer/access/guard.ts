/**
 * Who may use the explorer.
 *
 * With the well-known key, which protects nothing, being on this machine is enough: the socket itself must be
 * loopback, whatever headers say. Everybody else logs in with a key and has a session. A read-only key may
 * look and not write.
 *
 * Against pages of others: with the well-known key the Host must be a name of the server (DNS rebinding); an
 * Origin must be the server's own; and every call that is not a GET has a header of ours, which a page of
 * another origin cannot send without asking first, and is never allowed to.
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
  /** Queries and jobs are named within it. */
  readonly name: string
}

export const ownHeader = 'x-mayfly-explorer'

/** Host and Origin, for every path of the explorer, also for its files. */
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
