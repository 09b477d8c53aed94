/**
 * Continuation tokens: where a feed continues. A token is bound to its feed and signed with the account key.
 *
 * A token is the position in JSON, with a signature over the position and its scope. So a token that was
 * altered, or belongs to another container, range or account, is refused instead of reading something else.
 */

import { createHmac } from 'node:crypto'
import { RequestError } from '../../base/error.ts'

const signatureChars = 22

function sign(key: string, scope: string, payload: string): string {
  return createHmac('sha256', key).update(`${scope}\n${payload}`).digest('base64url').slice(0, signatureChars)
}

export function encodeContinuation(key: string, scope: string, position: unknown): string {
  const payload = Buffer.from(JSON.stringify(position)).toString('base64url')
  return `${payload}.${sign(key, scope, payload)}`
}

export function decodeContinuation(key: string, scope: string, token: string): unknown {
  const dot = token.indexOf('.')
  const payload = token.slice(0, dot)
  if (dot === -1 || sign(key, scope, payload) !== token.slice(dot + 1)) {
    throw new RequestError('malformed', 'Invalid Continuation Token: it was altered or belongs to another feed.')
  }
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}
