/**
 * Resource tokens: what a permission allows its bearer, signed with the account key.
 *
 *   type=resource&ver=1&sig=<base64 of the signature>;<base64 of the grant in JSON>;
 *
 * A token contains its whole grant and nothing is looked up, so deleting a permission does not revoke its
 * tokens. They end when they expire, as in the service.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { canonicalPartitionKey, parsePartitionKeyHeader } from '../../document/partition-key.ts'

export interface Grant {
  /** Path of names: `['dbs', 'shop', 'colls', 'carts']`. */
  readonly path: readonly string[]
  readonly mode: 'read' | 'all'
  /** Canonical partition key; undefined allows all. */
  readonly partitionKey?: string | undefined
  /** Seconds since 1970, by the machine's clock. */
  readonly expires: number
}

const prefix = 'type=resource&ver=1&sig='

function sign(key: string, payload: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64')).update(`resource token\n${payload}`).digest()
}

export function issueToken(key: string, grant: Grant): string {
  const payload = Buffer.from(JSON.stringify(grant)).toString('base64')
  return `${prefix}${sign(key, payload).toString('base64')};${payload};`
}

/** Undefined if it is not a resource token. */
export function readToken(key: string, authorization: string): Grant | undefined {
  // Every request passes here, and nearly all have other tokens.
  if (!/^type(=|%3d)resource/i.test(authorization)) return undefined
  const token = decode(authorization)
  if (!token.startsWith(prefix)) return undefined
  const [signature = '', payload = ''] = token.slice(prefix.length).split(';')
  const given = Buffer.from(signature, 'base64')
  const expected = sign(key, payload)
  if (given.length !== expected.length || !timingSafeEqual(given, expected)) {
    throw new RequestError('unauthenticated', 'The input authorization token is not valid.')
  }
  return JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as Grant
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

export interface TokenUse {
  readonly path: readonly string[]
  readonly method: string
  readonly isRead: boolean
  readonly partitionKey: string | undefined
}

/** Throws unless the grant covers the request. Any valid token may read the account, which SDKs do first. */
export function checkGrant({ path, mode, partitionKey, expires }: Grant, use: TokenUse): void {
  if (machine.epochMs() >= expires * 1000) {
    throw new RequestError('forbidden', 'The authorization token is not valid at the current time: it has expired.')
  }
  if (use.path.length === 0) return
  const isWithin = path.every((name, at) => use.path[at] === name)
  const isAllowed = isWithin && (use.isRead || mode === 'all')
  if (!isAllowed || (partitionKey !== undefined && !isWithinKey(use, partitionKey))) {
    throw new RequestError(
      'forbidden',
      'Insufficient permissions provided in the authorization header for the corresponding request. Please ' +
        'retry with another authorization header.',
    )
  }
}

/**
 * A token for one partition key covers the items under that key. It may not change what others share: the
 * container and its scripts.
 */
function isWithinKey({ path, method, isRead, partitionKey }: TokenUse, granted: string): boolean {
  const type = path[4]
  // Reading the container itself reveals nothing about its partition keys.
  if (type === undefined || type === 'pkranges') return isRead
  const isAboutItems = type === 'docs' || type === 'operations' || (path.length === 6 && method === 'POST')
  if (!isRead && !isAboutItems) return false
  return partitionKey !== undefined && canonicalPartitionKey(parsePartitionKeyHeader(partitionKey)) === granted
}
