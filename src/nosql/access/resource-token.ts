/**
 * Resource tokens: what a permission allows its bearer, signed with the account's primary key.
 *
 *   type=resource&ver=1&sig=<base64 of the signature>;<base64 of the grant in JSON>;
 *
 * A token contains its whole grant. It ends when it expires, or earlier with its permission or its container:
 * both are named by `_rid`, so that a later one of the same name does not bring it back.
 */

import { createHmac, timingSafeEqual } from 'node:crypto'
import { type AccountKeys, wellKnownKey } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { canonicalPartitionKey, parsePartitionKeyHeader } from '../../document/partition-key.ts'
import type { Engine } from '../../engine/engine.ts'
import { viewOf } from '../http/container-view.ts'
import { outcomeError } from '../http/outcome-error.ts'
import { hasPermission } from '../scripts/user-store.ts'

export interface Grant {
  /** Path of names: `['dbs', 'shop', 'colls', 'carts']`. */
  readonly path: readonly string[]
  readonly mode: 'read' | 'all'
  /** The `_rid` of the container; undefined if there was none, and then the token allows nothing. */
  readonly container: string | undefined
  /** The `_rid` of the permission. */
  readonly permission: string
  /** Canonical partition key; undefined allows all. */
  readonly partitionKey?: string | undefined
  /** Seconds since 1970, by the machine's clock. */
  readonly expires: number
}

const prefix = 'type=resource&ver=1&sig='

function sign(key: string, payload: string): Buffer {
  return createHmac('sha256', Buffer.from(key, 'base64')).update(`resource token\n${payload}`).digest()
}

export function issueToken(keys: AccountKeys, grant: Grant): string {
  const payload = Buffer.from(JSON.stringify(grant)).toString('base64')
  return `${prefix}${sign(keys.primary, payload).toString('base64')};${payload};`
}

/** A grant that was signed with one of the account's keys. */
export interface SignedGrant {
  readonly grant: Grant
  /** Whether it was signed with the key that everybody knows. */
  readonly isWellKnown: boolean
}

/** Undefined if it is not a resource token. A token stays valid as long as the key that signed it. */
export function readToken(keys: AccountKeys, authorization: string): SignedGrant | undefined {
  // Every request passes here, and nearly all have other tokens.
  if (!/^type(=|%3d)resource/i.test(authorization)) return undefined
  const token = decode(authorization)
  if (!token.startsWith(prefix)) return undefined
  const [signature = '', payload = ''] = token.slice(prefix.length).split(';')
  const given = Buffer.from(signature, 'base64')
  const signer = keys.all.find(({ text, isReadOnly }) => {
    const expected = sign(text, payload)
    return !isReadOnly && given.length === expected.length && timingSafeEqual(given, expected)
  })
  if (signer === undefined) {
    throw new RequestError('unauthenticated', 'The input authorization token is not valid.')
  }
  const grant = JSON.parse(Buffer.from(payload, 'base64').toString('utf8')) as Grant
  return { grant, isWellKnown: signer.text === wellKnownKey }
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
  if (isAllowed && (partitionKey === undefined || isWithinKey(use, partitionKey))) return
  if (!readsContainer(use, path)) throw outcomeError('notPermitted')
}

/**
 * Every token may read its container, also one for an item or a partition key: SDKs read the container first,
 * and it reveals nothing about its items.
 */
function readsContainer(use: TokenUse, granted: readonly string[]): boolean {
  const isContainer = use.path.length === 4 || (use.path.length === 5 && use.path[4] === 'pkranges')
  return use.isRead && isContainer && granted.slice(0, 4).every((name, at) => use.path[at] === name)
}

/** Throws if the permission is gone, or if the name of its container belongs to another one now. */
export async function checkGrantLives(engine: Engine, { path, container, permission }: Grant): Promise<void> {
  const found = await engine.catalog.findContainer(path[1]!, path[3]!)
  // If there is no container, the answer is 404.
  const isSame = found === undefined || viewOf(found).rid === container
  if (!isSame || !(await hasPermission(engine, permission))) throw outcomeError('notPermitted')
}

/**
 * A token for one partition key covers the items under that key. It may not change what others share: the
 * container and its scripts.
 */
function isWithinKey({ path, method, isRead, partitionKey }: TokenUse, granted: string): boolean {
  const type = path[4]
  if (type === undefined) return false
  const isAboutItems = type === 'docs' || type === 'operations' || (path.length === 6 && method === 'POST')
  if (!isRead && !isAboutItems) return false
  return partitionKey !== undefined && canonicalPartitionKey(parsePartitionKeyHeader(partitionKey)) === granted
}
