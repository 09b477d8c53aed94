/** Who is at the other end of a connection, as far as commands need to know. */

import type { ScramConversation } from './scram.ts'

export interface RequestStatistics {
  readonly command: string
  /** Of the operation; later ones have higher numbers. */
  readonly number: number
  readonly chargeRu: number
  readonly elapsedMs: number
}

export class Client {
  readonly connectionId: number
  /** Where the client found us, as it can dial it again: `127.0.0.1:10255`. */
  readonly serverAddress: string
  readonly clientAddress: string
  user: string | undefined
  /** The database of the login. */
  userSource = 'admin'
  login:
    | { readonly conversation: ScramConversation; readonly skipsEmptyExchange: boolean; isProven: boolean }
    | undefined
  /** What the last command on documents cost, for `getLastRequestStatistics`. */
  last: RequestStatistics | undefined

  constructor(details: Pick<Client, 'connectionId' | 'serverAddress' | 'clientAddress'>) {
    this.connectionId = details.connectionId
    this.serverAddress = details.serverAddress
    this.clientAddress = details.clientAddress
  }

  get isLoggedIn(): boolean {
    return this.user !== undefined
  }
}
