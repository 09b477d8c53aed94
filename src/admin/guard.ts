/**
 * Decides who may use the admin API and see the pages.
 *
 * The well-known key protects nothing. With it, the only credential is to be on this machine: the address of
 * the socket must be loopback (headers of a proxy do not count), and the Host must be a name of the server.
 * With a key of the user's own, every call must have it, and the Host may be any name. A read-only key may
 * only read. In both cases a given key must be right, and an Origin must be the server's own.
 */

import type { IncomingMessage } from 'node:http'
import type { AccountKeys } from '../base/account-keys.ts'
import { RequestError } from '../base/error.ts'
import { checkOrigin, type HostNames, isLoopback } from '../base/host-names.ts'

export interface GuardOptions {
  readonly keys: AccountKeys
  readonly hostNames: HostNames
}

/** Checks Host and Origin only: for pages that every user of the machine may see. */
export function checkCaller({ headers }: IncomingMessage, { hostNames }: GuardOptions): void {
  hostNames.check(headers.host, headers.origin)
}

export function checkAdmin(req: IncomingMessage, options: GuardOptions): void {
  const { keys } = options
  const { authorization, host, origin } = req.headers
  const given = bearerForm.exec(authorization ?? '')?.[1]
  const key = given === undefined ? undefined : keys.find(given)
  if (key === undefined || keys.isWellKnown) checkCaller(req, options)
  else checkOrigin(host, origin)
  // Also if no key is needed: a client with a wrong key means another server, or has mistyped the key.
  if (given !== undefined && key === undefined) {
    throw new RequestError('unauthenticated', 'The given key is not a key of this server.')
  }
  if (keys.isWellKnown && isLoopback(req.socket.remoteAddress)) return
  if (key === undefined) {
    throw new RequestError('unauthenticated', 'The admin API needs the header "Authorization: Bearer <account key>".')
  }
  if (key.isReadOnly && req.method !== 'GET' && req.method !== 'HEAD') {
    throw new RequestError('forbidden', 'The key is read-only: it may use GET calls only.')
  }
}

const bearerForm = /^Bearer *(.*)$/i
