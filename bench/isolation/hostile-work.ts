/** What a hostile work is: requests that a client sends again and again, and how each of them may end. */

import type { Document } from 'bson'

export interface HttpWork {
  readonly method: 'GET' | 'POST' | 'PATCH'
  /** Behind the container: `/docs`. Another path if it begins with `/dbs` or `/_`. */
  readonly path: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
}

export interface MongoWork {
  readonly command: Document
  /** Documents that are sent as a sequence. */
  readonly documents?: readonly Document[]
}

export interface HostileWork {
  readonly name: string
  /** Made when it is needed, because some are large. `n` counts the requests. */
  readonly http?: (n: number) => HttpWork
  readonly mongo?: (n: number) => MongoWork
  /** Requests that are sent at once, before the first answer. */
  readonly pipelined?: number
  /** Connections that send it at the same time; two unless it says otherwise. */
  readonly connections?: number
  /**
   * Many short requests instead of a long one: each has been answered before anybody could end it. So only
   * the waits of others count.
   */
  readonly isFlood?: boolean
}
