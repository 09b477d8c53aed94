/**
 * Serves http and https on one port: the first byte of a connection tells them apart.
 *
 * A TLS connection starts with the byte 22 (a handshake record). No HTTP method does. Plain connections begin
 * in the fast lane. They move to node:http with their first request that is not plain. The certificate is
 * made, and node:https loaded, when the first TLS connection arrives: servers without TLS start faster.
 */

import { createServer as createHttpServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import { type AddressInfo, createServer as createNetServer, type Socket } from 'node:net'
import { machine } from '../base/clock.ts'
import type { Logger } from '../base/log.ts'
import type { Certificate } from './certificate.ts'
import { FastLane, type FastLaneOptions, keepAliveMs } from './http/fast-lane.ts'
import { headerBytesMax } from './http/request-parser.ts'
import { drainMsMax, explainListenError, headersTimeoutMs, type Listener } from './listener.ts'

/** A connection whose request has not arrived whole by then is closed. */
const requestTimeoutMs = 30_000

export interface HttpListenerOptions {
  readonly host: string
  readonly port: number
  readonly handler: (req: IncomingMessage, res: ServerResponse) => void
  readonly fastLane: Omit<FastLaneOptions, 'handOver'>
  readonly certificate: () => Promise<Certificate>
  readonly log: Logger
  readonly holdsProcess: boolean
}

const tlsHandshake = 0x16

const limits = {
  headersTimeout: headersTimeoutMs,
  requestTimeout: requestTimeoutMs,
  maxHeaderSize: headerBytesMax,
  keepAliveTimeout: keepAliveMs,
}

export async function listenHttp(options: HttpListenerOptions): Promise<Listener> {
  const { host, port, handler, certificate, log, holdsProcess } = options
  const fastLane = new FastLane({ ...options.fastLane, handOver: socket => plain.emit('connection', socket) })
  const plain = createHttpServer(limits, handler)
  let secure: Promise<Server> | undefined
  const secureServer = () => {
    secure ??= Promise.all([certificate(), import('node:https')]).then(([{ key, cert }, https]) =>
      prepare(https.createServer({ ...limits, key, cert }, handler)),
    )
    return secure
  }
  prepare(plain)

  const sockets = new Set<Socket>()
  /** Connections that have not sent anything yet. */
  const silent = new Set<Socket>()
  const gate = createNetServer({ noDelay: true, allowHalfOpen: true }, socket => {
    sockets.add(socket)
    if (!holdsProcess) socket.unref()
    silent.add(socket)
    socket.once('close', () => {
      sockets.delete(socket)
      silent.delete(socket)
    })
    socket.on('error', () => socket.destroy())
    const onTimeout = () => socket.destroy()
    socket.setTimeout(headersTimeoutMs, onTimeout)
    socket.once('end', onTimeout)
    socket.once('data', first => {
      socket.off('end', onTimeout)
      silent.delete(socket)
      socket.off('timeout', onTimeout)
      socket.setTimeout(0)
      if (first[0] !== tlsHandshake) {
        fastLane.serve(socket, first)
        return
      }
      socket.pause()
      socket.unshift(first)
      secureServer().then(
        server => {
          server.emit('connection', socket)
          socket.resume()
        },
        error => {
          log.error({ error }, 'the certificate for https could not be made')
          socket.destroy()
        },
      )
    })
  })
  await new Promise<void>((resolve, reject) => {
    gate.once('error', error => reject(explainListenError(error, { host, port, flag: '--port' })))
    gate.listen({ host, port }, resolve)
  })
  if (!holdsProcess) gate.unref()

  return {
    port: (gate.address() as AddressInfo).port,
    async [Symbol.asyncDispose]() {
      const closed = new Promise(resolve => gate.close(resolve))
      // Idle connections close at once. The others close when their request is answered.
      const servers = secure === undefined ? [plain] : [plain, await secure]
      fastLane.close()
      for (const socket of silent) socket.destroy()
      for (const server of servers) server.close()
      const idle = machine.setInterval(() => {
        for (const server of servers) server.closeIdleConnections()
      }, 20)
      const limit = machine.setTimeout(() => {
        for (const socket of sockets) socket.destroy()
      }, drainMsMax)
      await closed
      machine.clearInterval(idle)
      machine.clearTimeout(limit)
    },
  }
}

/**
 * The http servers never listen themselves. The event starts their timeouts for slow connections. Bytes that
 * are not HTTP get an answer that looks like every other error.
 */
function prepare<T extends Server>(server: T): T {
  server.emit('listening')
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable) return
    const [status, code, message] =
      error.code === 'HPE_HEADER_OVERFLOW'
        ? ['431 Request Header Fields Too Large', 'RequestHeaderFieldsTooLarge', 'The headers are too large.']
        : ['400 Bad Request', 'BadRequest', 'The request is not valid HTTP.']
    const body = JSON.stringify({ code, message })
    socket.end(
      `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: ` +
        `close\r\n\r\n${body}`,
    )
  })
  return server
}
