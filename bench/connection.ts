/** One keep-alive connection with one request in flight: as little client as HTTP/1.1 allows. */

import { connect, type Socket } from 'node:net'

export interface Answer {
  readonly status: number
  /** Name and value by turns, as received. */
  readonly headers: readonly string[]
  readonly body: string
}

type Done = (status: number) => void

/** Speaks only to servers that send `content-length`; anything else is an error, never a guess. */
export class Connection {
  readonly #socket: Socket
  readonly #failed: (error: Error) => void
  #done: Done | undefined
  #keep: Buffer[] | undefined
  /** The start of an answer whose head has not arrived whole. */
  #pending: Buffer | undefined
  #status = 0
  #missingBytes = -1

  private constructor(socket: Socket, failed: (error: Error) => void) {
    this.#socket = socket
    this.#failed = failed
    socket.on('data', chunk => this.#receive(chunk))
    socket.on('error', failed)
    socket.on('close', () => {
      if (this.#done !== undefined) failed(new Error('The server closed a connection with a request in flight.'))
    })
  }

  /** `failed` hears of everything that goes wrong after the connection stands. */
  static open(port: number, failed: (error: Error) => void): Promise<Connection> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.removeListener('error', reject)
        resolve(new Connection(socket, failed))
      })
    })
  }

  exchange(request: Buffer, done: Done): void {
    this.#done = done
    this.#socket.write(request)
  }

  /** The whole answer, for everything that is not the measured load. */
  ask(request: Buffer): Promise<Answer> {
    const kept: Buffer[] = []
    this.#keep = kept
    return new Promise(resolve => {
      this.exchange(request, status => {
        this.#keep = undefined
        const text = Buffer.concat(kept).toString()
        const headEnd = text.indexOf('\r\n\r\n')
        const headers = text
          .slice(0, headEnd)
          .split('\r\n')
          .slice(1)
          .flatMap(line => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()])
        resolve({ status, headers, body: text.slice(headEnd + 4) })
      })
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#keep?.push(chunk)
    if (this.#missingBytes >= 0) {
      this.#missingBytes -= chunk.length
    } else {
      const data = this.#pending === undefined ? chunk : Buffer.concat([this.#pending, chunk])
      const headEnd = data.indexOf('\r\n\r\n')
      if (headEnd < 0) {
        this.#pending = data
        return
      }
      this.#pending = undefined
      const head = data.toString('latin1', 0, headEnd)
      const length = /\r\ncontent-length: *(\d+)/i.exec(head)
      this.#status = Number(head.slice(9, 12))
      if (length === null && this.#status !== 204) {
        this.#failed(new Error(`An answer without content-length: ${head}`))
        return
      }
      this.#missingBytes = headEnd + 4 + Number(length?.[1] ?? 0) - data.length
    }
    if (this.#missingBytes > 0) return
    if (this.#missingBytes < 0) {
      this.#failed(new Error(`${-this.#missingBytes} bytes more than announced.`))
      return
    }
    const done = this.#done
    this.#done = undefined
    this.#missingBytes = -1
    done?.(this.#status)
  }
}

/** One question on a connection of its own. */
export async function ask(port: number, request: Buffer): Promise<Answer> {
  const { promise: failure, reject } = Promise.withResolvers<never>()
  const connection = await Connection.open(port, reject)
  try {
    return await Promise.race([connection.ask(request), failure])
  } finally {
    connection.close()
  }
}
