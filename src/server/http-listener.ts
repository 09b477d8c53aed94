/**
 * Serves http and https, HTTP/1 and HTTP/2, on one port: the first bytes of a connection tell them apart.
 *
 * A TLS connection starts with the byte 22 (a handshake record), and no HTTP method does. In its handshake
 * the client asks for HTTP/1.1 or HTTP/2. Without TLS, HTTP/2 starts with the word PRI, which is not a
 * method.
 *
 * Plain HTTP/1 connections begin in the fast lane. They move to node:http with their first request that is
 * not plain. The code of TLS and HTTP/2 is loaded, and the certificate is made, when the first connection
 * needs them. So a server without such connections starts faster.
 */

import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { machine } from '../base/clock.ts'
import { MiB } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import { unreadMsMax, watchSlowReader } from '../base/slow-reader.ts'
import { Gate } from './gate.ts'
import { watchChunks } from './http/chunk-sizes.ts'
import { dropBody, requestMsMax } from './http/collect-body.ts'
import { FastLane, type FastLaneOptions, keepAliveMs } from './http/fast-lane.ts'
import type { Http2Sessions } from './http/http2-sessions.ts'
import { headerBytesMax, headersTooLarge } from './http/request-parser.ts'
import { headersTimeoutMs, type Listener } from './listener.ts'
import type { Certificate } from './tls/certificate.ts'
import { type Decrypt, makeDecrypt } from './tls/decrypt.ts'

/** How often node:http looks for connections that have used up their time. Its default is 30 s. */
const timeoutCheckMs = 1000

export interface HttpListenerOptions {
  readonly host: string
  readonly port: number
  /** How errors name the setting of the port. */
  readonly portName: string
  readonly connectionsMax: number
  readonly handler: (req: IncomingMessage, res: ServerResponse) => void
  readonly fastLane: Omit<FastLaneOptions, 'handOver'>
  readonly certificate: () => Promise<Certificate>
  readonly log: Logger
  readonly holdsProcess: boolean
}

const tlsHandshake = 0x16

/** The first bytes of a client that knows that the server speaks HTTP/2: `PRI * HTTP/2.0`. */
const prefaceStart = Buffer.from('PRI ')

const limits = {
  headersTimeout: headersTimeoutMs,
  // The protocol's handlers end slow bodies themselves, a little earlier and with an answer of their own.
  requestTimeout: requestMsMax + 5000,
  connectionsCheckingInterval: timeoutCheckMs,
  maxHeaderSize: headerBytesMax,
  keepAliveTimeout: keepAliveMs,
}

const http2Limits = { requestMsMax, prefaceMsMax: headersTimeoutMs, idleMsMax: keepAliveMs, unreadMsMax }

export async function listenHttp(options: HttpListenerOptions): Promise<Listener> {
  const { host, port, portName, connectionsMax, handler, certificate, log, holdsProcess } = options
  const fastLane = new FastLane({ ...options.fastLane, handOver: socket => plain.emit('connection', socket) })
  const plain = createServer(limits, (req, res) => {
    res.once('prefinish', () => {
      if (res.socket?.writableNeedDrain === true) watchSlowReader(res.socket)
    })
    if (options.fastLane.isProtocolPath(req.url ?? '/') || !refusesChunks(req)) handler(req, res)
  })
  prepare(plain)
  plain.on('request', ({ socket }) => {
    const accepted = acceptedOf.get(socket)
    if (accepted !== undefined) gate.noteRequest(accepted)
  })

  let securing: Promise<Decrypt> | undefined
  const secure = () => {
    securing ??= makeDecrypt(certificate, { handshakeMsMax: headersTimeoutMs })
    // The next connection tries again: the cause may have been removed.
    securing.catch(() => {
      securing = undefined
    })
    return securing
  }
  let sessions: Http2Sessions | undefined
  const loadHttp2 = async () => {
    const { Http2Sessions } = await import('./http/http2-sessions.ts')
    sessions ??= new Http2Sessions({ ...options.fastLane, handler, ...http2Limits })
    return sessions
  }

  /** The accepted socket of a decrypted one. */
  const acceptedOf = new WeakMap<Socket, Socket>()

  async function serveHttp2(socket: Socket, accepted: Socket): Promise<void> {
    const http2 = sessions ?? (await loadHttp2())
    gate.noteRequest(accepted)
    if (!accepted.destroyed) http2.serve(socket)
  }

  async function serveTls(accepted: Socket): Promise<void> {
    const decrypt = await secure()
    if (accepted.destroyed) return
    decrypt(accepted, decrypted => {
      if (decrypted.alpnProtocol === 'h2') {
        serveHttp2(decrypted, accepted).catch(giveUp(accepted))
      } else {
        acceptedOf.set(decrypted, accepted)
        plain.emit('connection', decrypted)
      }
    })
  }

  const giveUp = (socket: Socket) => (error: unknown) => {
    log.error({ error }, 'a connection with TLS or HTTP/2 could not be served')
    socket.destroy()
  }

  const gate = await Gate.open({
    ...{ host, port, portName, connectionsMax, holdsProcess },
    allowHalfOpen: true,
    protocolOf,
    serve: (socket, first, protocol) => {
      if (protocol === 'http/1') {
        gate.noteRequest(socket)
        fastLane.serve(socket, first)
        return
      }
      socket.pause()
      socket.unshift(first)
      const served = protocol === 'tls' ? serveTls(socket) : serveHttp2(socket, socket)
      served.catch(giveUp(socket))
    },
  })

  return {
    port: gate.port,
    renewCertificate() {
      securing = undefined
    },
    async [Symbol.asyncDispose]() {
      const closed = gate.close()
      // Idle connections close at once. The others close when their request is answered.
      fastLane.close()
      sessions?.close()
      plain.close()
      const idle = machine.setInterval(() => plain.closeIdleConnections(), 20)
      await closed
      machine.clearInterval(idle)
    },
  }
}

/** The protocol that the first bytes of a connection show; undefined if they are too few. */
function protocolOf(first: Buffer): 'tls' | 'http/2' | 'http/1' | undefined {
  if (first[0] === tlsHandshake) return 'tls'
  for (let at = 0; at < prefaceStart.length; at++) {
    if (at === first.length) return undefined
    if (first[at] !== prefaceStart[at]) return 'http/1'
  }
  return 'http/2'
}

const clientErrors: Readonly<Record<string, readonly [status: string, content: object]>> = {
  HPE_HEADER_OVERFLOW: ['431 Request Header Fields Too Large', headersTooLarge],
  ERR_HTTP_REQUEST_TIMEOUT: [
    '408 Request Timeout',
    { code: 'RequestTimeout', message: 'The request did not arrive in time.' },
  ],
}

/**
 * The http server never listens itself, so the event is sent here: it starts the timeouts for slow
 * connections. Bytes that are not HTTP get an answer that looks like every other error.
 */
function prepare(server: Server): void {
  server.emit('listening')
  server.on('clientError', (error: NodeJS.ErrnoException, socket: Socket) => {
    if (!socket.writable) return
    const [status, content] = clientErrors[error.code ?? ''] ?? [
      '400 Bad Request',
      { code: 'BadRequest', message: 'The request is not valid HTTP.' },
    ]
    endWith(socket, status, content)
  })
}

function endWith(socket: Socket, status: string, content: object): void {
  const body = JSON.stringify(content)
  socket.end(
    `HTTP/1.1 ${status}\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\nconnection: ` +
      `close\r\n\r\n${body}`,
  )
}

/** No request needs such a chunk. The protocol's handlers have a lower limit of their own. */
const chunkBytesMax = 1024 * MiB

/**
 * Refuses larger chunks in requests for the pages or the admin API. Returns whether one has arrived already.
 */
function refusesChunks(req: IncomingMessage): boolean {
  const chunks = watchChunks(req, chunkBytesMax)
  if (chunks === undefined) return false
  const { socket } = req
  const refuse = () => {
    endWith(socket, '413 Content Too Large', { code: 'RequestEntityTooLarge', message: 'A chunk is too large.' })
    dropBody(req, () => socket.destroy())
  }
  if (chunks.isTooLong) refuse()
  else chunks.onTooLong = refuse
  return chunks.isTooLong
}
