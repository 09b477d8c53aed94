/**
 * Continuation tokens: where a feed continues. A token is bound to its feed and signed with the account key.
 *
 * A token is the position as JSON in base64, with a signature over the position and its scope. So a token
 * that was altered, or belongs to another container, range or account, is refused instead of reading
 * something else.
 */

import { createHmac } from 'node:crypto'
import { RequestError } from '../../base/error.ts'
import type { ScanRange } from '../../store/reading.ts'

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

type TokenRange = Pick<ScanRange, 'min' | 'maxExclusive'>

/**
 * A token of items, in JSON with the range that was read, as the service's: clients look into it. The range
 * is signed but not compared: after a split, clients use the token of a range for its halves.
 */
export function encodeRangeContinuation(key: string, scope: string, range: TokenRange, position: unknown): string {
  const end = `${rangeStart}${JSON.stringify({ min: range.min, max: range.maxExclusive })}}`
  return tokenStart + encodeContinuation(key, scope + end, position) + end
}

export function decodeRangeContinuation(key: string, scope: string, token: string): unknown {
  const at = token.startsWith(tokenStart) ? token.indexOf(rangeStart) : -1
  if (at === -1) return decodeContinuation(key, scope, '')
  return decodeContinuation(key, scope + token.slice(at), token.slice(tokenStart.length, at))
}

const tokenStart = '{"token":"'
const rangeStart = '","range":'
