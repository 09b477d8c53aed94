/**
 * Continuation tokens: where a feed continues. A token is bound to its feed and signed with the primary key.
 *
 * A token is the position as JSON in base64, with a signature over the position and its scope. So a token
 * that was altered, or belongs to another container, range or account, is refused instead of reading
 * something else.
 */

import { createHmac } from 'node:crypto'
import type { AccountKeys } from '../../base/account-keys.ts'
import { RequestError } from '../../base/error.ts'
import type { ScanRange } from '../../store/reading.ts'

const signatureChars = 22

function sign(key: string, scope: string, payload: string): string {
  return createHmac('sha256', key).update(`${scope}\n${payload}`).digest('base64url').slice(0, signatureChars)
}

export function encodeContinuation(keys: AccountKeys, scope: string, position: unknown): string {
  const payload = Buffer.from(JSON.stringify(position)).toString('base64url')
  return `${payload}.${sign(keys.primary, scope, payload)}`
}

/** Accepts tokens of all valid keys, so that a feed continues while keys are rotated. */
export function decodeContinuation(keys: AccountKeys, scope: string, token: string): unknown {
  const dot = token.indexOf('.')
  const payload = token.slice(0, dot)
  const signature = token.slice(dot + 1)
  if (dot === -1 || !keys.all.some(({ text }) => sign(text, scope, payload) === signature)) {
    throw new RequestError('malformed', 'Invalid Continuation Token: it was altered or belongs to another feed.')
  }
  return JSON.parse(Buffer.from(payload, 'base64url').toString('utf8'))
}

type TokenRange = Pick<ScanRange, 'min' | 'maxExclusive'>

/**
 * A token for items. Like that of the service, it is JSON with the range that was read, because clients look
 * into it. The range is signed but not compared: after a split, clients use the token of a range for its
 * halves.
 */
export function encodeRangeContinuation(
  keys: AccountKeys,
  scope: string,
  range: TokenRange,
  position: unknown,
): string {
  const end = `${rangeStart}${JSON.stringify({ min: range.min, max: range.maxExclusive })}}`
  return tokenStart + encodeContinuation(keys, scope + end, position) + end
}

export function decodeRangeContinuation(keys: AccountKeys, scope: string, token: string): unknown {
  const at = token.startsWith(tokenStart) ? token.indexOf(rangeStart) : -1
  if (at === -1) return decodeContinuation(keys, scope, '')
  return decodeContinuation(keys, scope + token.slice(at), token.slice(tokenStart.length, at))
}

const tokenStart = '{"token":"'
const rangeStart = '","range":'
