/**
 * Checks the signature of a request, made with one of the account's keys, and the age of its date.
 *
 *   authorization = encodeURIComponent("type=master&ver=1.0&sig=" + base64(HMAC-SHA256(key, payload)))
 *   payload       = verb \n resource type \n resource link \n date \n \n   (lower case, except the link)
 *
 * The signature covers neither body nor headers, so a request can be replayed within the skew, as in the
 * service. TLS is the defence.
 */

import type { AccountKey, AccountKeys } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'
import { RequestError } from '../../base/error.ts'
import { ownText } from '../../base/own-text.ts'
import { HmacSha256 } from './hmac.ts'

/** The signature of a request is valid this long before and after its date, as in the service. */
const signatureSkewMsMax = 15 * 60 * 1000

/** Most cached dates of signatures. About 1,800 could be accepted at a time, but most are recent. */
const rememberedDatesMax = 1024

/** The parts of a request that the signature covers. */
export interface SignedResource {
  readonly verb: string
  readonly type: string
  readonly link: string
  /** Another link that the client may have signed. */
  readonly otherLink?: string | undefined
}

export class Authorizer {
  readonly #keys: AccountKeys
  /** One for each key of `#signersOf`. */
  #signers: readonly Signer[] = []
  #signersOf: readonly AccountKey[] = []
  /** Parsed dates. Requests within a second share a date, and some arrive later than others. */
  readonly #dates = new Map<string, SignedDate>()

  constructor(keys: AccountKeys) {
    this.#keys = keys
  }

  /** Returns the key that signed the request. */
  check(resource: SignedResource, authorization: string | undefined, date: string | undefined): AccountKey {
    const { verb, type, link, otherLink } = resource
    if (authorization === undefined) {
      refuse('Required Header authorization is missing. Ensure a valid Authorization token is passed.')
    }
    if (date === undefined) refuse('Authorization token mandates Date header.')
    const { ms, lowerCase } = this.#dates.get(date) ?? this.#readDate(date)
    checkAge(ms)
    const payload = `${verb}\n${type}\n${link}\n${lowerCase}\n\n`
    const key = this.#signerOf(payload, authorization) ?? this.#signerOf(payload, decoded(authorization))
    if (key !== undefined) return key
    if (otherLink !== undefined) return this.check({ verb, type, link: otherLink }, authorization, date)
    if (bearerToken.test(authorization)) {
      refuse('A token of Entra ID must be sent as "type=aad&ver=1.0&sig=<token>", as the SDKs do.')
    }
    refuse(
      `The input authorization token can't serve the request. The wrong key is being used or the expected ` +
        'payload is not built as per the protocol. For more info: https://aka.ms/cosmosdb-tsg-unauthorized. ' +
        `Server used the following payload to sign: '${payload}'`,
    )
  }

  #signerOf(payload: string, token: string): AccountKey | undefined {
    const prefix = tokenPrefixes.find(each => token.startsWith(each))
    if (prefix === undefined) return undefined
    if (this.#signersOf !== this.#keys.all) this.#makeSigners()
    for (const { key, hmac } of this.#signers) if (hmac.isDigest(payload, token, prefix.length)) return key
    return undefined
  }

  #makeSigners(): void {
    this.#signersOf = this.#keys.all
    this.#signers = this.#signersOf.map(key => ({ key, hmac: new HmacSha256(Buffer.from(key.text, 'base64')) }))
  }

  #readDate(date: string): SignedDate {
    const ms = machine.parseHttpDateMs(date)
    if (Number.isNaN(ms)) {
      refuse(`The date '${date.slice(0, 64)}' of the request cannot be read: it must be in the format of RFC 1123.`)
    }
    const read = { ms, lowerCase: date.toLowerCase() }
    if (date.length <= httpDateChars) {
      if (this.#dates.size >= rememberedDatesMax) this.#dates.clear()
      this.#dates.set(ownText(date), read)
    }
    return read
  }
}

interface Signer {
  readonly key: AccountKey
  readonly hmac: HmacSha256
}

interface SignedDate {
  readonly ms: number
  readonly lowerCase: string
}

/** `Mon, 16 Nov 2026 05:21:16 GMT` */
const httpDateChars = 29

function checkAge(dateMs: number): void {
  const nowMs = machine.epochMs()
  if (Math.abs(nowMs - dateMs) <= signatureSkewMsMax) return
  // A client in our own process signs with the simulated date of a test.
  if (Math.abs(machine.believedEpochMs() - dateMs) <= signatureSkewMsMax) return
  const text = (ms: number) => new Date(ms).toUTCString()
  throw new RequestError(
    'forbidden',
    'The authorization token is not valid at the current time. Please create another token and retry (token ' +
      `start time: ${text(dateMs)}, token expiry time: ${text(dateMs + signatureSkewMsMax)}, current server time: ` +
      `${text(nowMs)}).`,
  )
}

function refuse(text: string): never {
  throw new RequestError('unauthenticated', text)
}

/** Tokens of Entra ID that are not in the service's form. Those in its form were checked before. */
const bearerToken = /^(type(=|%3d)aad|bearer )/i

/** The spellings that SDKs use. Any other spelling is decoded first. */
const tokenPrefixes = [
  'type%3Dmaster%26ver%3D1.0%26sig%3D',
  'type%3dmaster%26ver%3d1.0%26sig%3d',
  'type=master&ver=1.0&sig=',
]

function decoded(token: string): string {
  try {
    const text = decodeURIComponent(token)
    // A token that was escaped twice is not accepted.
    return text.includes('%') ? '' : text
  } catch {
    // A token that is not properly URI-encoded has no signature.
    return ''
  }
}
