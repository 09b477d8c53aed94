/**
 * The etag of a change feed: the position of the next page, in decimal digits only.
 *
 * The service's etags are log sequence numbers. Some SDKs rely on that: Python takes an etag that is no
 * number for a token of another kind and starts again at now; Java computes its lag from it.
 *
 *   "17"                   a position that is a number, in the feed of latest versions
 *   "9" and 20 digits      everything else: two digits for each character, padded with zeros in front. More
 *   or more                than 64 bits, so no client takes it for a number to compute with.
 *
 * An etag belongs to no range: after a split, clients use the etag of a range for its parts. It is not signed
 * either: whoever makes one up reads the feed from another place, which they may do anyway.
 */

import assert from 'node:assert/strict'
import { RequestError } from '../../base/error.ts'

export type FeedMode = 'latest' | 'all'

/**
 * Where a feed continues. Changes before `since` are left out: a position that was looked up by time may lie
 * before it.
 */
export interface FeedPosition {
  readonly position: string
  readonly since?: number
}

const letters = '0123456789abcdefghijklmnopqrstuvwxyz.-'
const firstCode = 10
const longDigitsMin = 20
/** c: a position in the change order; l: one in the log. */
const initials: Readonly<Record<FeedMode, string>> = { latest: 'c', all: 'l' }

export function encodeFeedEtag(mode: FeedMode, { position, since }: FeedPosition): string {
  if (mode === 'latest' && since === undefined && /^\d{1,16}$/.test(position)) return `"${position}"`
  const text = initials[mode] + position + (since === undefined ? '' : `-${since}`)
  let digits = ''
  for (const letter of text) {
    const at = letters.indexOf(letter)
    assert.notEqual(at, -1, `an etag cannot contain ${letter}`)
    digits += firstCode + at
  }
  return `"9${digits.padStart(longDigitsMin, '0')}"`
}

export function decodeFeedEtag(mode: FeedMode, etag: string): FeedPosition {
  const digits = etag.startsWith('"') && etag.endsWith('"') ? etag.slice(1, -1) : etag
  if (mode === 'latest' && /^\d{1,16}$/.test(digits)) return { position: digits }
  const text = /^9\d+$/.test(digits) && digits.length > longDigitsMin ? textOf(digits.slice(1)) : ''
  const [, position, since] = /^.([0-9a-z.]+)(?:-(\d{1,15}))?$/.exec(text) ?? []
  if (position === undefined || text[0] !== initials[mode]) return decodeOldEtag(digits)
  return since === undefined ? { position } : { position, since: Number(since) }
}

/** The earlier form: `{position, since}` as JSON in base64, a dot, a signature that no longer counts. */
function decodeOldEtag(token: string): FeedPosition {
  const [payload = '', signature] = token.split('.')
  const found = signature === undefined ? undefined : parsedOrUndefined(Buffer.from(payload, 'base64url').toString())
  const { position, since } = (found ?? {}) as { position?: unknown; since?: unknown }
  const isPosition = typeof position === 'string' && /^[0-9a-z.]+$/.test(position)
  if (!isPosition || (since !== undefined && !Number.isSafeInteger(since))) {
    throw new RequestError('malformed', 'Invalid Continuation Token: it was altered or belongs to another feed.')
  }
  return since === undefined ? { position } : { position, since: since as number }
}

function parsedOrUndefined(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

function textOf(digits: string): string {
  const pairs = digits.replace(/^0+/, '').match(/\d\d?/g) ?? []
  return pairs.map(pair => letters[Number(pair) - firstCode] ?? '').join('')
}
