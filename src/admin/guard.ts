/**
 * Who may use the admin API and see the pages.
 *
 * With the well-known key, which protects nothing, being on this machine is the only credential: the socket
 * itself must be loopback, whatever headers say. With a key of one's own every call carries it. In both cases
 * the Host must be a name of ours and an Origin must be our own, so that no page elsewhere can reach a local
 * server through somebody's browser.
 */

import type { IncomingMessage } from 'node:http'
import { RequestError } from '../base/error.ts'

export interface GuardOptions {
  readonly key: string
  readonly isWellKnownKey: boolean
  /** The name or address the server was told to bind. */
  readonly host: string
}

const localNames = new Set(['localhost', '127.0.0.1', '[::1]', 'host.docker.internal'])

/** Checks Host and Origin alone: for what anybody on the machine may see. */
export function checkOrigin(req: IncomingMessage, { host }: GuardOptions): void {
  const named = (req.headers.host ?? '').toLowerCase()
  const name = named.replace(/:\d+$/, '')
  if (!localNames.has(name) && name !== host.toLowerCase()) {
    throw new RequestError('forbidden', `This server does not answer to the name '${name.slice(0, 64)}'.`)
  }
  const { origin } = req.headers
  if (origin !== undefined && origin.toLowerCase().replace(/^https?:\/\//, '') !== named) {
    throw new RequestError('forbidden', 'Requests from other origins are refused.')
  }
}

export function checkAdmin(req: IncomingMessage, options: GuardOptions): void {
  checkOrigin(req, options)
  if (options.isWellKnownKey && isLoopback(req.socket.remoteAddress)) return
  if (req.headers.authorization !== `Bearer ${options.key}`) {
    throw new RequestError('unauthenticated', 'The admin API needs the header "Authorization: Bearer <account key>".')
  }
}

export function isLoopback(address: string | undefined): boolean {
  return address !== undefined && /^(127\.|::1$|::ffff:127\.)/.test(address)
}
