/**
 * SCRAM (RFC 5802, RFC 7677): the server's side of a login in which the password never travels.
 *
 * The account key is the password. An unknown user goes through the same conversation as a known one, with a
 * salt that is stable for its name. So answers do not tell which users exist.
 */

import { createHash, createHmac, pbkdf2Sync, randomBytes, timingSafeEqual } from 'node:crypto'

export const mechanisms = ['SCRAM-SHA-256', 'SCRAM-SHA-1'] as const
export type Mechanism = (typeof mechanisms)[number]

const digests = { 'SCRAM-SHA-256': 'sha256', 'SCRAM-SHA-1': 'sha1' } as const
/** MongoDB's values. Drivers refuse fewer than 4096. */
const iterations = { 'SCRAM-SHA-256': 15_000, 'SCRAM-SHA-1': 10_000 } as const

const nonceBytes = 24
const saltBytes = 16
/** Clients send a name and a nonce at most. Nothing longer is read. */
const payloadBytesMax = 4096

/** The login failed. The client is not told why. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
}

interface Credentials {
  readonly salt: Buffer
  readonly storedKey: Buffer
  readonly serverKey: Buffer
}

/**
 * The users that may log in. Deriving a key takes milliseconds, so it is done once for each mechanism and
 * user.
 */
export class Accounts {
  readonly #users: ReadonlySet<string>
  readonly #password: string
  readonly #secret = randomBytes(32)
  readonly #derived = new Map<string, Credentials>()

  constructor({ users, password }: { readonly users: readonly string[]; readonly password: string }) {
    this.#users = new Set(users)
    this.#password = password
  }

  credentials(mechanism: Mechanism, user: string): Credentials {
    const salt = createHmac('sha256', this.#secret).update(`${mechanism} ${user}`).digest().subarray(0, saltBytes)
    if (!this.#users.has(user)) {
      return { salt, storedKey: randomBytes(keyBytes(mechanism)), serverKey: randomBytes(keyBytes(mechanism)) }
    }
    const name = `${mechanism} ${user}`
    let credentials = this.#derived.get(name)
    if (credentials === undefined) {
      credentials = derive(mechanism, user, this.#password, salt)
      this.#derived.set(name, credentials)
    }
    return credentials
  }
}

function keyBytes(mechanism: Mechanism): number {
  return mechanism === 'SCRAM-SHA-256' ? 32 : 20
}

/** The key is ASCII, so SASLprep does not change it. SHA-1 uses MongoDB's older digest of the password. */
function derive(mechanism: Mechanism, user: string, password: string, salt: Buffer): Credentials {
  const secret =
    mechanism === 'SCRAM-SHA-256' ? password : createHash('md5').update(`${user}:mongo:${password}`).digest('hex')
  const digest = digests[mechanism]
  const salted = pbkdf2Sync(secret, salt, iterations[mechanism], keyBytes(mechanism), digest)
  const clientKey = createHmac(digest, salted).update('Client Key').digest()
  return {
    salt,
    storedKey: createHash(digest).update(clientKey).digest(),
    serverKey: createHmac(digest, salted).update('Server Key').digest(),
  }
}

export class ScramConversation {
  readonly user: string
  readonly #mechanism: Mechanism
  readonly #credentials: Credentials
  readonly #nonce: string
  readonly #gs2Header: string
  readonly #clientFirst: string
  readonly serverFirst: string

  constructor(accounts: Accounts, mechanism: Mechanism, payload: Uint8Array) {
    const text = readPayload(payload)
    const match = /^([ny],(?:a=([^,]*))?,)((?:m=[^,]*,)?n=([^,]*),r=([^,]+))(?:,.*)?$/s.exec(text)
    if (match === null || match[3]!.startsWith('m=')) throw new LoginError('the first message is not one')
    this.#mechanism = mechanism
    this.#gs2Header = match[1]!
    this.#clientFirst = match[3]!
    this.user = match[4]!.replaceAll('=2C', ',').replaceAll('=3D', '=')
    this.#credentials = accounts.credentials(mechanism, this.user)
    this.#nonce = match[5]! + randomBytes(nonceBytes).toString('base64')
    const salt = this.#credentials.salt.toString('base64')
    this.serverFirst = `r=${this.#nonce},s=${salt},i=${iterations[mechanism]}`
  }

  /** Checks the client's proof and returns the server's. */
  finish(payload: Uint8Array): string {
    const text = readPayload(payload)
    const proofAt = text.lastIndexOf(',p=')
    if (proofAt === -1) throw new LoginError('no proof')
    const withoutProof = text.slice(0, proofAt)
    const binding = Buffer.from(this.#gs2Header).toString('base64')
    if (withoutProof !== `c=${binding},r=${this.#nonce}`) throw new LoginError('another conversation')
    const digest = digests[this.#mechanism]
    const { storedKey, serverKey } = this.#credentials
    const authMessage = `${this.#clientFirst},${this.serverFirst},${withoutProof}`
    const signature = createHmac(digest, storedKey).update(authMessage).digest()
    const proof = Buffer.from(text.slice(proofAt + 3), 'base64')
    if (proof.length !== signature.length) throw new LoginError('a proof of another length')
    const clientKey = proof.map((byte, at) => byte ^ signature[at]!)
    if (!timingSafeEqual(createHash(digest).update(clientKey).digest(), storedKey))
      throw new LoginError('a wrong proof')
    return `v=${createHmac(digest, serverKey).update(authMessage).digest('base64')}`
  }
}

function readPayload(payload: Uint8Array): string {
  if (payload.length > payloadBytesMax) throw new LoginError('a message that is too long')
  return Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8')
}
