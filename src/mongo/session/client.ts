/** The client of a connection, as commands see it. */

import type { AccountKey } from '../../base/account-keys.ts'
import { type NamedUser, type UserName, userKey } from '../access/users.ts'
import type { ScramConversation } from './scram.ts'

export interface RequestStatistics {
  readonly command: string
  /** The number of the operation. Later operations have higher numbers. */
  readonly number: number
  readonly chargeRu: number
  readonly elapsedMs: number
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
  /** The connection is closed: what begins now would run for nobody. */
  hasGone = false
  /** The `appName` of its connection string. */
  applicationName: string | undefined
  login:
    | { readonly conversation: ScramConversation; readonly skipsEmptyExchange: boolean; isProven: boolean }
    | undefined
  /** The cost of the last command on documents, for `getLastRequestStatistics`. */
  last: RequestStatistics | undefined

  constructor(details: Pick<Client, 'connectionId' | 'serverAddress' | 'clientAddress'>) {
    this.connectionId = details.connectionId
    this.serverAddress = details.serverAddress
    this.clientAddress = details.clientAddress
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
