/** One connection with one request in flight: as little client as a protocol allows. */

import { connect, type Socket } from 'node:net'

/**
 * What a connection must know of its protocol. One for each connection, which may keep in it what has arrived
 * so far.
 */
export interface Framing<Answer> {
  /** A request leaves: what arrives from now on is its answer. */
  begin(request: Buffer): void
  /** Takes what has arrived and says whether the answer is whole. Throws when it is none. */
  push(chunk: Buffer): boolean
  /** What is wrong with an answer that is whole; undefined when it is the one that was expected. */
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

  /** `failed` hears of everything that goes wrong after the connection stands. */
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

  /** `done` is called when the expected answer is there; any other is a failure. */
  exchange(request: Buffer, done: () => void): void {
    // Otherwise it would wait for ever: the end of the connection was told when nobody listened.
    if (this.#socket.destroyed) this.#failed(new Error('The server had closed an idle connection.'))
    this.#done = done
    this.#framing.begin(request)
    this.#socket.write(request)
  }

  /** The whole answer, whatever it says, for everything that is not the measured load. */
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
