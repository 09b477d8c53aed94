/**
 * Reads the file of `--entra`: which tokens of Microsoft Entra ID are accepted, and for which roles.
 *
 *   {
 *     "issuers": ["https://login.microsoftonline.com/<tenant>/v2.0"],
 *     "audiences": ["https://cosmos.azure.com"],
 *     "keys": [{ "kid": "…", "kty": "RSA", "n": "…", "e": "AQAB" }],
 *     "contributors": ["<object id of a user, a group or an application>"],
 *     "readers": ["…"]
 *   }
 *
 * The keys are a JSON Web Key Set as the issuer publishes it. Nothing is ever fetched, least of all from an
 * address that a token names.
 */

import { createPublicKey, type JsonWebKeyInput, type KeyObject } from 'node:crypto'
import { RequestError } from '../../base/error.ts'

/** What the bearer of a token may do, after the built-in roles of the service. */
export type EntraRole = 'reader' | 'contributor'

export interface EntraKey {
  readonly key: KeyObject
  /** The algorithm is a property of the key. What a token says about it is only compared. */
  readonly algorithm: 'RS256' | 'ES256'
}

export interface EntraSettings {
  readonly issuers: ReadonlySet<string>
  readonly audiences: ReadonlySet<string>
  /** By `kid`. */
  readonly keys: ReadonlyMap<string, EntraKey>
  /** By object id. */
  readonly roles: ReadonlyMap<string, EntraRole>
}

const listNames = ['issuers', 'audiences', 'keys', 'contributors', 'readers'] as const

/** Enough for every application of a large tenant; a longer list is a mistake. */
const listLengthMax = 10_000

/** Shorter RSA keys can be broken. */
const rsaBitsMin = 2048

/** Reads the text of the file. `file` stands in the errors. */
export function parseEntraSettings(text: string, file: string): EntraSettings {
  const refuse = (sentence: string): never => {
    throw new RequestError('malformed', `${file} (--entra): ${sentence}`)
  }
  const fields = parseObject(text) ?? refuse('the file is not one JSON object.')
  const unknown = Object.keys(fields).find(name => !(listNames as readonly string[]).includes(name))
  if (unknown !== undefined) refuse(`there is no setting "${unknown}", only ${listNames.join(', ')}.`)
  const list = (name: (typeof listNames)[number]): readonly unknown[] => {
    const value = fields[name] ?? []
    if (!Array.isArray(value) || value.length > listLengthMax) {
      return refuse(`"${name}" must be a list of at most ${listLengthMax} entries.`)
    }
    return value
  }
  const texts = (name: (typeof listNames)[number]): readonly string[] =>
    list(name).map(entry => {
      if (typeof entry !== 'string' || entry === '') return refuse(`"${name}" must contain texts that are not empty.`)
      return entry
    })
  for (const name of ['issuers', 'audiences', 'keys'] as const) {
    if (list(name).length === 0) refuse(`"${name}" must not be empty.`)
  }
  const keys = new Map<string, EntraKey>()
  for (const [index, entry] of list('keys').entries()) {
    const { kid } = (entry ?? {}) as { kid?: unknown }
    const key = publicKey(entry)
    if (typeof kid !== 'string' || key === undefined) {
      refuse(`key ${index} must be a public JSON Web Key with a "kid": RSA of ${rsaBitsMin} bits or more, or P-256.`)
    }
    keys.set(kid as string, key!)
  }
  const roles = new Map<string, EntraRole>()
  for (const id of texts('readers')) roles.set(id.toLowerCase(), 'reader')
  for (const id of texts('contributors')) roles.set(id.toLowerCase(), 'contributor')
  return { issuers: new Set(texts('issuers')), audiences: new Set(texts('audiences')), keys, roles }
}

function parseObject(text: string): Readonly<Record<string, unknown>> | undefined {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
      ? (value as Record<string, unknown>)
      : undefined
  } catch {
    return undefined
  }
}

/** Undefined if it is not a key that signatures can be checked with. */
function publicKey(entry: unknown): EntraKey | undefined {
  let key: KeyObject
  try {
    key = createPublicKey({ key: entry as JsonWebKeyInput['key'], format: 'jwk' })
  } catch {
    return undefined
  }
  const { modulusLength = 0, namedCurve } = key.asymmetricKeyDetails ?? {}
  if (key.asymmetricKeyType === 'rsa' && modulusLength >= rsaBitsMin) return { key, algorithm: 'RS256' }
  if (key.asymmetricKeyType === 'ec' && namedCurve === 'prime256v1') return { key, algorithm: 'ES256' }
  return undefined
}
