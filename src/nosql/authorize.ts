/**
 * The master-key signature of a request and the age of its date.
 *
 *   authorization = encodeURIComponent("type=master&ver=1.0&sig=" + base64(HMAC-SHA256(key, payload)))
 *   payload       = verb \n resource type \n resource link \n date \n \n      (all but the link in lower case)
 *
 * The signature covers neither body nor headers; a request can be replayed within the skew, in the service as here. TLS is
 * the defence.
 */

import { machine } from '../base/clock.ts'
import { RequestError } from '../base/error.ts'
import { signatureSkewMsMax } from '../base/limits.ts'
import { HmacSha256 } from './hmac.ts'

/** What the signature speaks about. */
export interface SignedResource {
  readonly verb: string
  readonly type: string
  readonly link: string
}

export class Authorizer {
  readonly #hmac: HmacSha256
  #lastDate = ''
  #lastDateMs = Number.NaN

  /** The account key, in base64. */
  constructor(key: string) {
    this.#hmac = new HmacSha256(Buffer.from(key, 'base64'))
  }

  check({ verb, type, link }: SignedResource, authorization: string | undefined, date: string | undefined): void {
    if (authorization === undefined) {
      refuse('Required Header authorization is missing. Ensure a valid Authorization token is passed.')
    }
    if (date === undefined) refuse('Authorization token mandates Date header.')
    this.#checkAge(date)
    const payload = `${verb}\n${type}\n${link}\n${date.toLowerCase()}\n\n`
    const signature = this.#hmac.base64(payload)
    // As the JavaScript SDK writes it, compared without decoding; others write the escapes in lower case or not at all.
    if (isEqual(authorization, tokenPrefix + escapeSignature(signature))) return
    if (isEqual(signatureIn(authorization), signature)) return
    refuse(
      `The input authorization token can't serve the request. The wrong key is being used or the expected payload is not built as per the protocol. For more info: https://aka.ms/cosmosdb-tsg-unauthorized. Server used the following payload to sign: '${payload}'`,
    )
  }

  /** Requests of one second share their date, so it is parsed once. */
  #checkAge(date: string): void {
    if (date !== this.#lastDate) {
      this.#lastDateMs = machine.parseHttpDateMs(date)
      this.#lastDate = date
    }
    if (Number.isNaN(this.#lastDateMs)) {
      refuse(`The date '${date.slice(0, 64)}' of the request cannot be read: it must be in the format of RFC 1123.`)
    }
    const nowMs = machine.epochMs()
    if (Math.abs(nowMs - this.#lastDateMs) <= signatureSkewMsMax) return
    // A client in our own process signs with the date that a test made it believe in.
    if (Math.abs(machine.believedEpochMs() - this.#lastDateMs) <= signatureSkewMsMax) return
    const text = (ms: number) => new Date(ms).toUTCString()
    throw new RequestError(
      'forbidden',
      `The authorization token is not valid at the current time. Please create another token and retry (token start time: ${text(this.#lastDateMs)}, token expiry time: ${text(this.#lastDateMs + signatureSkewMsMax)}, current server time: ${text(nowMs)}).`,
    )
  }
}

function refuse(text: string): never {
  throw new RequestError('unauthenticated', text)
}

const tokenPrefix = 'type%3Dmaster%26ver%3D1.0%26sig%3D'

function escapeSignature(base64: string): string {
  return base64.replaceAll('+', '%2B').replaceAll('/', '%2F').replaceAll('=', '%3D')
}

function signatureIn(authorization: string): string {
  try {
    const token = decodeURIComponent(authorization)
    return /^type=master&ver=1\.0&sig=(.*)$/.exec(token)?.[1] ?? ''
  } catch {
    // A token that is not URI-encoded properly carries no signature.
    return ''
  }
}

/** In a time that depends on the length alone. */
function isEqual(given: string, expected: string): boolean {
  if (given.length !== expected.length) return false
  let difference = 0
  for (let at = 0; at < expected.length; at++) difference |= given.charCodeAt(at) ^ expected.charCodeAt(at)
  return difference === 0
}
