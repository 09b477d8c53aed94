/**
 * Sessions of people who logged in with a key. The browser holds a random token in a cookie; the server
 * holds its digest and the key. A session ends by its age, by idleness, and when its key is taken away. Ages
 * are machine time.
 */

import { hash, randomBytes } from 'node:crypto'
import type { AccountKey, AccountKeys } from '../../base/account-keys.ts'
import { machine } from '../../base/clock.ts'

const ageMsMax = 12 * 3600_000
const idleMsMax = 2 * 3600_000
const sessionsMax = 1000

export const sessionCookie = 'mayfly_session'

export interface Session {
  /** The name of the session in the server, which the browser does not know. */
  readonly id: string
  readonly isReadOnly: boolean
}

interface Held extends Session {
  readonly key: AccountKey
  readonly beganMs: number
  usedMs: number
}

export class LoginSessions {
  readonly #keys: AccountKeys
  readonly #monotonicMs: () => number
  /** By the digest of the token; the least recently begun first. */
  readonly #held = new Map<string, Held>()

  constructor(keys: AccountKeys, monotonicMs: () => number = machine.monotonicMs) {
    this.#keys = keys
    this.#monotonicMs = monotonicMs
  }

  get size(): number {
    return this.#held.size
  }

  /** Returns the token. */
  begin(key: AccountKey): string {
    if (this.#held.size >= sessionsMax) this.#forget()
    const token = randomBytes(32).toString('base64url')
    const nowMs = this.#monotonicMs()
    const id = digest(token)
    this.#held.set(id, { id, key, isReadOnly: key.isReadOnly, beganMs: nowMs, usedMs: nowMs })
    return token
  }

  find(token: string): Session | undefined {
    const id = digest(token)
    const held = this.#held.get(id)
    if (held === undefined) return undefined
    if (!this.#isValid(held)) {
      this.#held.delete(id)
      return undefined
    }
    held.usedMs = this.#monotonicMs()
    return held
  }

  /** Whether the session is still valid. Does not count as a use of it. */
  isValid({ id }: Session): boolean {
    const held = this.#held.get(id)
    return held !== undefined && this.#isValid(held)
  }

  end({ id }: Session): void {
    this.#held.delete(id)
  }

  #isValid({ key, beganMs, usedMs }: Held): boolean {
    const nowMs = this.#monotonicMs()
    if (nowMs - beganMs > ageMsMax || nowMs - usedMs > idleMsMax) return false
    return this.#keys.all.some(({ text, isReadOnly }) => text === key.text && isReadOnly === key.isReadOnly)
  }

  /** Removes the sessions that are over; if there are none, the oldest. */
  #forget(): void {
    for (const [id, held] of this.#held) if (!this.#isValid(held)) this.#held.delete(id)
    if (this.#held.size < sessionsMax) return
    const [oldest] = this.#held.keys()
    this.#held.delete(oldest!)
  }
}

function digest(token: string): string {
  return hash('sha256', token, 'base64url')
}
