/** What the edge needs of HTTP, whoever speaks it: a whole request in, one answer out. */

import type { IncomingHttpHeaders } from 'node:http'

export interface HttpRequest {
  readonly method: string
  readonly url: string
  /** Names in lower case. */
  readonly headers: IncomingHttpHeaders
  /** Where the client reached us: `http://127.0.0.1:8081`. */
  readonly origin: string
  readonly body: Buffer
}

export type Reply = (answer: HttpAnswer) => void

export interface HttpAnswer {
  readonly status: number
  /** Lines, each with its end; the length and type of the body are among them. */
  readonly headers: string
  readonly body: string | Buffer
  /** When it equals the length of a text, all of that is ASCII. */
  readonly bodyBytes: number
}
