/** The client of a connection, as commands see it. */

import type { AccountKey } from '../../base/account-keys.ts'
import type { MemoryShare } from '../../base/memory-account.ts'
import { type NamedUser, type UserName, userKey } from '../access/users.ts'
import type { ScramConversation } from './scram.ts'
import type { Transaction } from './transaction.ts'

export interface RequestStatistics {
  readonly command: string
  /** The number of the operation. Later operations have higher numbers. */
  readonly number: number
  readonly chargeRu: number
  readonly elapsedMs: number
}

type ClientDetails = Pick<Client, 'connectionId' | 'serverAddress' | 'clientAddress'> & {
  readonly shares: { readonly stranger: MemoryShare; readonly own: MemoryShare }
}

export class Client {
  readonly connectionId: number
  /** The address under which the client reached us, so that it can connect again: `127.0.0.1:10255`. */
  readonly serverAddress: string
  readonly clientAddress: string
  /** Who logged in, and in which database. */
  user: UserName | undefined
  /** Set if that is not the account, which may do everything. */
  named: NamedUser | undefined
  /** The key with which the account logged in. */
  accountKey: AccountKey | undefined
  /** The list of keys in which that key was looked for last. */
  keysSeen: readonly AccountKey[] | undefined
  /** The connection is closed, so new work for it would be useless. */
  hasGone = false
  /** The `appName` of its connection string. */
  applicationName: string | undefined
  login:
    | { readonly conversation: ScramConversation; readonly skipsEmptyExchange: boolean; isProven: boolean }
    | undefined
  /** The cost of the last command on documents, for `getLastRequestStatistics`. */
  last: RequestStatistics | undefined

  readonly #shares: { readonly stranger: MemoryShare; readonly own: MemoryShare }

  /** The last transaction of which it ran a command. */
  transaction: Transaction | undefined

  constructor({ shares, ...details }: ClientDetails) {
    this.#shares = shares
    this.connectionId = details.connectionId
    this.serverAddress = details.serverAddress
    this.clientAddress = details.clientAddress
  }

  /** What it may hold of the memory for requests: strangers have one share together. */
  get share(): MemoryShare {
    return this.isLoggedIn ? this.#shares.own : this.#shares.stranger
  }

  get isLoggedIn(): boolean {
    return this.user !== undefined
  }

  /** Whose sessions and cursors these are. Undefined: the account's. */
  get owner(): string | undefined {
    return this.named === undefined ? undefined : userKey(this.named)
  }

  logIn({ user, proven }: Pick<ScramConversation, 'user' | 'proven'>): void {
    this.login = undefined
    this.user = user
    this.named = proven.named
    this.accountKey = proven.accountKey
  }

  logOut(): void {
    this.user = undefined
    this.named = undefined
    this.accountKey = undefined
  }
}
