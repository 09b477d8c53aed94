/**
 * Checks tokens of Microsoft Entra ID, as SDKs send them: `type=aad&ver=1.0&sig=<JSON Web Token>`.
 *
 * There are two kinds. With `--entra`, a token signed by one of the configured keys gives its bearer the role
 * that the file names. And the token that SDKs make for the emulator, whose signature is the account key
 * itself, is worth as much as that key: it needs no settings.
 */

import { hash, verify } from 'node:crypto'
import { type AccountKeys, wellKnownKey } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import type { EntraRole, EntraSettings } from './entra-settings.ts'

export interface EntraBearer {
  readonly role: EntraRole
  /** For errors. */
  readonly principal: string
  /** Whether the token is worth no more than the key that everybody knows. */
  readonly isWellKnown: boolean
}

/** Clocks of issuers and servers differ a little. */
const skewSeconds = 300

/** Tokens whose signature was checked lately. A check takes about 50 us, longer than a point read. */
const rememberedMax = 1024

/** The header of the emulator's token. */
const emulatorKeyId = 'CosmosEmulatorPrimaryMaster'

const sentForm = /^type(?:=|%3d)aad(?:&|%26)ver(?:=|%3d)1\.0(?:&|%26)sig(?:=|%3d)/i

/** The token of an `Authorization` header; undefined if it has none of Entra ID. */
export function entraTokenOf(authorization: string): string | undefined {
  const sent = sentForm.exec(authorization)
  return sent === null ? undefined : authorization.slice(sent[0].length).replaceAll(/%3d/gi, '=')
}

export class EntraTokens {
  readonly #keys: AccountKeys
  #settings: EntraSettings | undefined
  /** By digest: what a valid token gives, and until when. */
  readonly #remembered = new Map<string, { readonly bearer: EntraBearer; readonly claims: Claims }>()

  constructor(keys: AccountKeys, settings: EntraSettings | undefined) {
    this.#keys = keys
    this.#settings = settings
  }

  replace(settings: EntraSettings | undefined): void {
    this.#settings = settings
    this.#remembered.clear()
  }

  /** Throws unless the token is valid now. */
  check(token: string): EntraBearer {
    const [header, payload, signature, ...rest] = token.split('.')
    if (header === undefined || payload === undefined || signature === undefined || rest.length > 0) {
      throw refused('it is not a JSON Web Token')
    }
    const { kid, alg } = parsePart(header)
    if (kid === emulatorKeyId) return this.#checkEmulatorToken(parsePart(payload), signature)
    const digest = hash('sha256', token, 'base64')
    const known = this.#remembered.get(digest)
    if (known !== undefined) {
      checkTimes(known.claims)
      return known.bearer
    }
    const settings = this.#settings
    if (settings === undefined) {
      throw refused('this server accepts none; its operator can allow them with --entra')
    }
    const key = typeof kid === 'string' ? settings.keys.get(kid) : undefined
    if (key === undefined) throw refused('its key is not among those that this server knows')
    if (alg !== key.algorithm) throw refused(`its algorithm is not ${key.algorithm}`)
    const signed = Buffer.from(`${header}.${payload}`)
    const given = { key: key.key, ...(key.algorithm === 'ES256' && { dsaEncoding: 'ieee-p1363' as const }) }
    if (!verify('sha256', signed, given, Buffer.from(signature, 'base64url'))) throw refused('its signature is wrong')
    const claims = parsePart(payload)
    checkTimes(claims)
    const bearer = { role: roleOf(claims, settings), principal: String(claims.oid ?? claims.appid), isWellKnown: false }
    if (this.#remembered.size >= rememberedMax) this.#remembered.clear()
    this.#remembered.set(digest, { bearer, claims })
    return bearer
  }

  /** Its signature is the text of the account key. */
  #checkEmulatorToken(claims: Claims, signature: string): EntraBearer {
    const key = this.#keys.find(Buffer.from(signature, 'base64url').toString('latin1'))
    if (key === undefined) throw refused('it is a token for the emulator, and its key is not a key of this server')
    checkTimes(claims)
    const role = key.isReadOnly ? 'reader' : 'contributor'
    return { role, principal: 'emulator', isWellKnown: key.text === wellKnownKey }
  }
}

type Claims = Readonly<Record<string, unknown>>

function roleOf(claims: Claims, { issuers, audiences, roles }: EntraSettings): EntraRole {
  const { iss, aud, oid, appid, azp, groups } = claims
  if (typeof iss !== 'string' || !issuers.has(iss)) throw refused('its issuer is not one that this server trusts')
  const given = Array.isArray(aud) ? aud : [aud]
  if (!given.some(each => typeof each === 'string' && audiences.has(each))) {
    throw refused('it was issued for another audience')
  }
  const ids = [oid, appid, azp, ...(Array.isArray(groups) ? groups : [])]
  const found = ids.flatMap(id => (typeof id === 'string' ? [roles.get(id.toLowerCase())] : []))
  const role = found.includes('contributor') ? 'contributor' : found.find(each => each !== undefined)
  if (role !== undefined) return role
  throw new RequestError('forbidden', 'The bearer of the Entra ID token has no role on this server.')
}

function checkTimes({ exp, nbf }: Claims): void {
  const now = machine.epochMs() / 1000
  if (typeof exp !== 'number' || exp + skewSeconds <= now) throw refused('it has expired')
  if (nbf !== undefined && !(typeof nbf === 'number' && nbf - skewSeconds <= now)) throw refused('it is not valid yet')
}

function parsePart(part: string): Claims {
  try {
    const value: unknown = JSON.parse(Buffer.from(part, 'base64url').toString('utf8'))
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Claims
  } catch {
    // Falls through to the refusal.
  }
  throw refused('it is not a JSON Web Token')
}

function refused(reason: string): RequestError {
  return new RequestError('unauthenticated', `The Entra ID token is refused: ${reason}.`)
}
