/** One connection with one request in flight: the smallest possible client. */

import { connect, type Socket } from 'node:net'

/**
 * The protocol of a connection. Each connection has its own instance, which may buffer the bytes that have
 * arrived so far.
 */
export interface Framing<Answer> {
  /** Called when a request is sent: bytes from now on belong to its answer. */
  begin(request: Buffer): void
  /** Takes bytes and says whether the answer is complete. Throws if they are not an answer. */
  push(chunk: Buffer): boolean
  /** The fault of a complete answer; undefined if it is the expected one. */
  fault(): string | undefined
  parse(answer: Buffer): Answer
}

export type Failed = (error: Error) => void

export class Connection<Answer> {
  readonly #socket: Socket
  readonly #framing: Framing<Answer>
  readonly #failed: Failed
  #done: (() => void) | undefined
  #keep: Buffer[] | undefined

  private constructor(socket: Socket, framing: Framing<Answer>, failed: Failed) {
    this.#socket = socket
    this.#framing = framing
    this.#failed = failed
    socket.on('data', chunk => this.#receive(chunk))
    socket.on('error', failed)
    socket.on('close', () => {
      if (this.#done !== undefined) failed(new Error('The server closed a connection with a request in flight.'))
    })
  }

  /** `failed` is called for every error after the connection is open. */
  static open<Answer>(port: number, framing: Framing<Answer>, failed: Failed): Promise<Connection<Answer>> {
    return new Promise((resolve, reject) => {
      const socket = connect({ port, host: '127.0.0.1', noDelay: true })
      socket.once('error', reject)
      socket.once('connect', () => {
        socket.removeListener('error', reject)
        resolve(new Connection(socket, framing, failed))
      })
    })
  }

  /** `done` is called when the expected answer has arrived; any other answer is a failure. */
  exchange(request: Buffer, done: () => void): void {
    // Otherwise it would wait for ever: the connection ended before anybody listened.
    if (this.#socket.destroyed) this.#failed(new Error('The server had closed an idle connection.'))
    this.#done = done
    this.#framing.begin(request)
    this.#socket.write(request)
  }

  /** The complete answer, good or bad, for requests outside the measured load. */
  ask(request: Buffer): Promise<Answer> {
    const kept: Buffer[] = []
    this.#keep = kept
    return new Promise((resolve, reject) => {
      this.exchange(request, () => {
        this.#keep = undefined
        try {
          resolve(this.#framing.parse(Buffer.concat(kept)))
        } catch (error) {
          reject(error)
        }
      })
    })
  }

  /** Sends many requests at once, and waits until a mark has come so many times; each answer has it once. */
  flood(requests: Buffer, mark: string, times: number): Promise<void> {
    return new Promise(resolve => {
      let seen = 0
      let rest = ''
      const listeners = this.#socket.listeners('data') as ((chunk: Buffer) => void)[]
      this.#socket.removeAllListeners('data')
      this.#done = () => {}
      this.#socket.on('data', (chunk: Buffer) => {
        const text = rest + chunk.toString('latin1')
        const parts = text.split(mark)
        seen += parts.length - 1
        rest = parts.at(-1)!.slice(-mark.length + 1)
        if (seen < times) return
        this.#done = undefined
        this.#socket.removeAllListeners('data')
        for (const listener of listeners) this.#socket.on('data', listener)
        resolve()
      })
      this.#socket.write(requests)
    })
  }

  close(): void {
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    this.#keep?.push(chunk)
    try {
      if (!this.#framing.push(chunk)) return
    } catch (error) {
      this.#failed(error as Error)
      return
    }
    const fault = this.#keep === undefined ? this.#framing.fault() : undefined
    if (fault !== undefined) {
      this.#failed(new Error(fault))
      return
    }
    const done = this.#done
    this.#done = undefined
    done?.()
  }
}
