/**
 * HTTP/1.1 as the benchmarks speak it: answers with `content-length`, anything else is an error, never a
 * guess.
 */

import { Connection, type Failed, type Framing } from './connection.ts'

export interface Answer {
  readonly status: number
  /** Names and values alternate, as received. */
  readonly headers: readonly string[]
  readonly body: string
}

export type HttpConnection = Connection<Answer>

export class HttpFraming implements Framing<Answer> {
  readonly #expectedStatus: number | undefined
  /** The start of an answer whose head is not complete yet. */
  #pending: Buffer | undefined
  #status = 0
  #missingBytes = -1

  constructor(expectedStatus?: number) {
    this.#expectedStatus = expectedStatus
  }

  begin(): void {
    this.#missingBytes = -1
  }

  push(chunk: Buffer): boolean {
    if (this.#missingBytes >= 0) {
      this.#missingBytes -= chunk.length
    } else {
      const data = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
      const headEnd = data.indexOf('\r\n\r\n')
      if (headEnd < 0) {
        this.#pending = data
        return false
      }
      this.#pending = undefined
      const head = data.toString('latin1', 0, headEnd)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)
      this.#status = Number(head.slice(9, 12))
      if (length === null && this.#status !== 204) throw new Error(`An answer without content-length: ${head}`)
      this.#missingBytes = headEnd + 4 + Number(length?.[1] ?? 0) - data.length
    }
    if (this.#missingBytes < 0) throw new Error(`${-this.#missingBytes} bytes more than announced.`)
    return this.#missingBytes === 0
  }

  fault(): string | undefined {
    return this.#status === this.#expectedStatus ? undefined : `Status ${this.#status}, not ${this.#expectedStatus}.`
  }

  parse(answer: Buffer): Answer {
    const text = answer.toString()
    const headEnd = text.indexOf('\r\n\r\n')
    const headers = text
      .slice(0, headEnd)
      .split('\r\n')
      .slice(1)
      .flatMap(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
    return { status: this.#status, headers, body: text.slice(headEnd + 4) }
  }
}

export function openHttp(port: number, failed: Failed): Promise<HttpConnection> {
  return Connection.open(port, new HttpFraming(), failed)
}

/** Sends one request on its own connection. */
export async function ask(port: number, request: Buffer): Promise<Answer> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await openHttp(port, reject)
  try {
    return await Promise.race([connection.ask(request), failure])
  } finally {
    connection.close()
  }
}
