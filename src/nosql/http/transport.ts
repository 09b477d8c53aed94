/** What this edge needs from HTTP: a request in, one answer out. */

import type { IncomingHttpHeaders } from 'node:http'
import type { Caller } from '../../base/caller.ts'
import type { MemoryLease, MemoryShare } from '../../base/memory-account.ts'

export interface HttpHead {
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** The address that the client used: `http://127.0.0.1:8081`. */
  readonly origin: string
  readonly caller: Caller
  /** The connection's share of the memory for requests. */
  readonly share: MemoryShare
}

export interface HttpRequest extends HttpHead {
  readonly body: Buffer
}

export type Reply = (answer: HttpAnswer) => void

export interface HttpAnswer {
  readonly status: number
  /** Header lines with their line ends, including the length and type of the body. */
  readonly headers: string
  /** Nobody else uses the bytes: their memory may be freed after they were sent. */
  readonly body: string | Buffer
  /** If it equals the length of a string body, the string is all ASCII. */
  readonly bodyBytes: number
  /** Holds a large body. Whoever sends the answer disposes of it when the client has taken the body. */
  readonly lease?: MemoryLease | undefined
}
