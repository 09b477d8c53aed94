/**
 * SCRAM (RFC 5802, RFC 7677): the server's side of a login in which the password never travels.
 *
 * Two kinds of users log in: the account, with the account key, and users that were created. An unknown user
 * goes through the same conversation as a known one, with a salt that never changes. So answers do not tell
 * which users exist.
 */

import { createHash, createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AccountKey, AccountKeys } from '../../base/account-keys.ts'
import { assert } from '../../base/error.ts'
import { andThen, type MaybePromise } from '../../base/maybe-promise.ts'
import { type Credentials, deriveCredentials, type Mechanism, mechanisms, scram } from '../access/credentials.ts'
import { type NamedUser, readOnlyAccount, type UserName, type Users } from '../access/users.ts'

const nonceBytes = 24
/** Clients send a name and a nonce at most. Nothing longer is read. */
const payloadBytesMax = 4096

/** The login failed. The client is not told why. */
export class LoginError extends Error {
  override readonly name = 'LoginError'
}

/** Who logs in, and what proves it. */
interface Login {
  readonly user: UserName
  readonly salt: Buffer
  /** The account has as many as it has keys, all with the same salt. */
  readonly candidates: readonly Candidate[]
}

interface Candidate {
  readonly credentials: Credentials
  /** Undefined: the account. */
  readonly named: NamedUser | undefined
  /** Undefined if it is not the account. */
  readonly accountKey: AccountKey | undefined
}

/** `localhost` is the user in the emulator's connection string. `mayfly` is the account's name. */
const accountNames: ReadonlySet<string> = new Set(['localhost', 'mayfly'])

/** The account may log in to any database, so its names are taken in all of them. */
export function isAccountName(user: string): boolean {
  return accountNames.has(user)
}

export class Logins {
  readonly #keys: AccountKeys
  readonly #users: Users
  /** The account's candidates, derived once for each mechanism and name. */
  readonly #derived = new Map<string, Promise<readonly Candidate[]>>()
  #derivedFrom: readonly AccountKey[] = []

  constructor({ keys, users }: { readonly keys: AccountKeys; readonly users: Users }) {
    this.#keys = keys
    this.#users = users
  }

  /** Whether the key with which the account logged in is still valid. */
  isValid(accountKey: AccountKey): boolean {
    return this.#keys.all.some(({ text, isReadOnly }) => {
      return text === accountKey.text && isReadOnly === accountKey.isReadOnly
    })
  }

  find(mechanism: Mechanism, name: UserName): MaybePromise<Login> {
    if (isAccountName(name.user)) {
      const user = { user: name.user, db: 'admin' }
      return this.#ofAccount(mechanism, user).then(candidates => {
        return { user, salt: candidates[0]!.credentials.salt, candidates }
      })
    }
    return andThen(this.#decoy(mechanism, name), decoy => this.#ofUser(mechanism, name, decoy))
  }

  /** Computed for any name, so that the time does not tell which users exist. */
  #decoy(mechanism: Mechanism, name: UserName): MaybePromise<Credentials> {
    const { keyBytes } = scram[mechanism]
    return andThen(this.#users.secret(), secret => ({
      salt: saltOf(secret ?? this.#keys.primary, mechanism, name),
      storedKey: randomBytes(keyBytes),
      serverKey: randomBytes(keyBytes),
    }))
  }

  #ofUser(mechanism: Mechanism, name: UserName, decoy: Credentials): MaybePromise<Login> {
    return andThen(this.#users.find(name), found => {
      const stored = found?.credentials[mechanism]
      const named = { ...name, userId: found?.userId ?? '' }
      const login = (credentials: Credentials) => {
        return { user: name, salt: credentials.salt, candidates: [{ credentials, named, accountKey: undefined }] }
      }
      if (stored === undefined) return login(decoy)
      const [storedSalt, storedKey, serverKey] = [stored.salt, stored.storedKey, stored.serverKey].map(text =>
        Buffer.from(text, 'base64'),
      )
      return login({ salt: storedSalt!, storedKey: storedKey!, serverKey: serverKey! })
    })
  }

  /**
   * The mechanisms that a client is told. All names seem to have both, whether a user has the name or not. A
   * user that was created with SCRAM-SHA-1 alone is told so, because it could not log in otherwise.
   */
  mechanismsOf(name: UserName): MaybePromise<readonly Mechanism[]> {
    if (isAccountName(name.user)) return mechanisms
    return andThen(this.#users.find(name), found => {
      const isOld = found !== undefined && found.credentials['SCRAM-SHA-256'] === undefined
      return isOld ? ['SCRAM-SHA-1'] : mechanisms
    })
  }

  #ofAccount(mechanism: Mechanism, user: UserName): Promise<readonly Candidate[]> {
    const keys = this.#keys.all
    if (this.#derivedFrom !== keys) {
      this.#derivedFrom = keys
      this.#derived.clear()
    }
    const name = `${mechanism} ${user.user}`
    const known = this.#derived.get(name)
    if (known !== undefined) return known
    const salt = saltOf(this.#keys.primary, mechanism, user)
    const derived = Promise.all(
      keys.map(async accountKey => ({
        credentials: await deriveCredentials(mechanism, { user: user.user, password: accountKey.text }, salt),
        named: accountKey.isReadOnly ? { ...user, userId: readOnlyAccount.userId } : undefined,
        accountKey,
      })),
    )
    this.#derived.set(name, derived)
    return derived
  }
}

/** A salt that is the same on every gateway and after every start, as that of a stored user is. */
function saltOf(secret: string, mechanism: Mechanism, { user, db }: UserName): Buffer<ArrayBuffer> {
  const mixed = createHmac('sha256', secret).update(`salt ${mechanism} ${db} ${user}`).digest()
  return Buffer.from(mixed.subarray(0, scram[mechanism].saltBytes))
}

interface FirstMessage {
  readonly user: string
  readonly nonce: string
  readonly gs2Header: string
  /** Without the header. */
  readonly text: string
}

export class ScramConversation {
  readonly #login: Login
  readonly #mechanism: Mechanism
  readonly #nonce: string
  readonly #first: FirstMessage
  readonly serverFirst: string
  #proven: Candidate | undefined

  private constructor(mechanism: Mechanism, login: Login, first: FirstMessage) {
    this.#mechanism = mechanism
    this.#login = login
    this.#first = first
    this.#nonce = first.nonce + randomBytes(nonceBytes).toString('base64')
    const salt = login.salt.toString('base64')
    this.serverFirst = `r=${this.#nonce},s=${salt},i=${scram[mechanism].iterations}`
  }

  static begin(
    logins: Logins,
    mechanism: Mechanism,
    { payload, db }: { readonly payload: Uint8Array; readonly db: string },
  ): MaybePromise<ScramConversation> {
    const first = readFirst(payload)
    return andThen(
      logins.find(mechanism, { user: first.user, db }),
      login => new ScramConversation(mechanism, login, first),
    )
  }

  get user(): UserName {
    return this.#login.user
  }

  /** Which candidate the client was. */
  get proven(): Candidate {
    assert(this.#proven !== undefined, 'nobody has logged in')
    return this.#proven
  }

  /** Checks the client's proof and returns the server's. */
  finish(payload: Uint8Array): string {
    const text = readPayload(payload)
    const proofAt = text.lastIndexOf(',p=')
    if (proofAt === -1) throw new LoginError('no proof')
    const withoutProof = text.slice(0, proofAt)
    const binding = Buffer.from(this.#first.gs2Header).toString('base64')
    if (withoutProof !== `c=${binding},r=${this.#nonce}`) throw new LoginError('another conversation')
    const { digest } = scram[this.#mechanism]
    const authMessage = `${this.#first.text},${this.serverFirst},${withoutProof}`
    const proof = Buffer.from(text.slice(proofAt + 3), 'base64')
    for (const candidate of this.#login.candidates) {
      if (isProof(proof, authMessage, candidate.credentials, digest)) this.#proven = candidate
    }
    if (this.#proven === undefined) throw new LoginError('a wrong proof')
    return `v=${createHmac(digest, this.#proven.credentials.serverKey).update(authMessage).digest('base64')}`
  }
}

function isProof(proof: Buffer, authMessage: string, { storedKey }: Credentials, digest: string): boolean {
  const signature = createHmac(digest, storedKey).update(authMessage).digest()
  if (proof.length !== signature.length) return false
  const clientKey = proof.map((byte, at) => byte ^ signature[at]!)
  return timingSafeEqual(createHash(digest).update(clientKey).digest(), storedKey)
}

function readFirst(payload: Uint8Array): FirstMessage {
  const match = /^([ny],(?:a=([^,]*))?,)((?:m=[^,]*,)?n=([^,]*),r=([^,]+))(?:,.*)?$/s.exec(readPayload(payload))
  if (match === null || match[3]!.startsWith('m=')) throw new LoginError('the first message is not one')
  const user = match[4]!.replaceAll('=2C', ',').replaceAll('=3D', '=')
  return { user, nonce: match[5]!, gs2Header: match[1]!, text: match[3]! }
}

function readPayload(payload: Uint8Array): string {
  if (payload.length > payloadBytesMax) throw new LoginError('a message that is too long')
  return Buffer.from(payload.buffer, payload.byteOffset, payload.length).toString('utf8')
}
