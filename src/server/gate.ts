/**
 * Opens a port that serves several protocols: the first bytes of a connection tell which one it uses.
 *
 * A connection that does not show its protocol in time is closed.
 */

import { type AddressInfo, createServer, type Server, type Socket } from 'node:net'
import { machine } from '../base/clock.ts'
import { drainMsMax, explainListenError, headersTimeoutMs } from './listener.ts'

export interface GateOptions<Protocol> {
  readonly host: string
  readonly port: number
  /** How errors name the setting of the port. */
  readonly portName: string
  readonly connectionsMax: number
  readonly holdsProcess: boolean
  /** Whether a client that has ended its side still gets answers. */
  readonly allowHalfOpen: boolean
  /** The protocol that the first bytes of a connection show; undefined if they are too few. */
  readonly protocolOf: (first: Buffer) => Protocol | undefined
  /** Takes over a connection. `first` is what was already read from it. */
  readonly serve: (socket: Socket, first: Buffer, protocol: Protocol) => void
}

export class Gate {
  readonly #server: Server
  readonly #sockets = new Set<Socket>()
  /** Connections without a request so far. A stopping server closes them. */
  readonly #silent = new Set<Socket>()

  private constructor(server: Server) {
    this.#server = server
  }

  static async open<Protocol>(options: GateOptions<Protocol>): Promise<Gate> {
    const { host, port, portName, connectionsMax, holdsProcess, allowHalfOpen } = options
    const server = createServer({ noDelay: true, allowHalfOpen })
    const gate = new Gate(server)
    server.on('connection', socket => {
      if (!holdsProcess) socket.unref()
      gate.#accept(socket, options)
    })
    server.maxConnections = connectionsMax
    await new Promise<void>((resolve, reject) => {
      server.once('error', error => reject(explainListenError(error, { host, port, portName })))
      server.listen({ host, port }, resolve)
    })
    if (!holdsProcess) server.unref()
    return gate
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port
  }

  /** Called when an accepted connection has sent a request: a stopping server waits for its answer. */
  noteRequest(accepted: Socket): void {
    this.#silent.delete(accepted)
  }

  /** Closes the port and silent connections. Waits until the others have ended, up to a limit. */
  async close(): Promise<void> {
    const closed = new Promise(resolve => this.#server.close(resolve))
    for (const socket of this.#silent) socket.destroy()
    const limit = machine.setTimeout(() => {
      for (const socket of this.#sockets) socket.destroy()
    }, drainMsMax)
    await closed
    machine.clearTimeout(limit)
  }

  #accept<Protocol>(socket: Socket, { protocolOf, serve }: GateOptions<Protocol>): void {
    this.#sockets.add(socket)
    this.#silent.add(socket)
    socket.once('close', () => {
      this.#sockets.delete(socket)
      this.#silent.delete(socket)
    })
    const giveUp = () => socket.destroy()
    socket.on('error', giveUp)
    socket.setTimeout(headersTimeoutMs, giveUp)
    socket.once('end', giveUp)
    let first: Buffer | undefined
    const onData = (chunk: Buffer) => {
      first = first === undefined ? chunk : Buffer.concat([first, chunk])
      const protocol = protocolOf(first)
      if (protocol === undefined) return
      socket.off('data', onData)
      socket.off('end', giveUp)
      socket.off('timeout', giveUp)
      socket.setTimeout(0)
      serve(socket, first, protocol)
    }
    socket.on('data', onData)
  }
}
