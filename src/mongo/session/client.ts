/** The client of a connection, as commands see it. */

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
  user: string | undefined
  /** The `appName` of its connection string. */
  applicationName: string | undefined
  /** The database that the client logged in to. */
  userSource = 'admin'
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
}
