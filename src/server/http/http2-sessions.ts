/**
 * Serves HTTP/2 connections, encrypted or not. They carry the same requests as HTTP/1, many at a time.
 *
 * The limits are those of HTTP/1 where both have them: bytes of headers and body, time for a whole request,
 * idle time.
 */

import type { IncomingMessage, ServerResponse } from 'node:http'
import {
  constants,
  createServer,
  type Http2Server,
  type Http2ServerRequest,
  type Http2ServerResponse,
  type ServerHttp2Session,
  type ServerHttp2Stream,
} from 'node:http2'
import type { Socket } from 'node:net'
import { Caller } from '../../base/caller.ts'
import { machine } from '../../base/clock.ts'
import { pageBytesMax } from '../../base/limits.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import type { HttpAnswer, Reply } from '../../nosql/http/transport.ts'
import type { NosqlServer } from '../../nosql/server.ts'
import { endInPieces } from '../sockets/end-in-pieces.ts'
import { dropBody } from './collect-body.ts'
import { carryOut } from './node-http.ts'
import { headerBytesMax, headersTooLarge } from './request-parser.ts'

/** Requests at a time on one connection. SDKs open another connection if they need more. */
export const concurrentStreamsMax = 100

/**
 * Requests that a connection may begin in one turn of the event loop: all streams, twice. More come from a
 * client that cancels them as it sends them. Then the connection is closed. One piece of 64 KB may have 1,800
 * such requests, and each takes 40 us.
 */
const streamsInTurnMax = 2 * concurrentStreamsMax

/**
 * While a connection uses more memory than this, node:http2 refuses its requests. Most of that memory is
 * answers on their way. So the limit must allow the largest pages on all streams. Answers that are not taken
 * are dropped.
 */
const sessionMegabytesMax = (2 * concurrentStreamsMax * pageBytesMax) / 1e6

/**
 * node:http2 resets a request with larger headers, without an answer. So it must allow more than we do: a
 * request of up to this size gets a 431.
 */
const toldHeaderBytesMax = 4 * headerBytesMax

/** The limit of node:http. A request reaches the limit in bytes before it. */
const headerPairsMax = 2000

/** What a header field counts in HTTP/2, besides its name and value (RFC 9113, 6.5.2). */
const fieldBytes = 32

export interface Http2Options {
  readonly nosql: NosqlServer
  readonly memory: MemoryAccount
  /** Whether a path belongs to the protocol. */
  readonly isProtocolPath: (url: string) => boolean
  /** Answers requests for all other paths. */
  readonly handler: (req: IncomingMessage, res: ServerResponse) => void
  readonly requestMsMax: number
  /** For what a client says first: its preface and its settings. */
  readonly prefaceMsMax: number
  readonly idleMsMax: number
  readonly unreadMsMax: number
}

export class Http2Sessions {
  readonly #options: Http2Options
  readonly #server: Http2Server
  readonly #sessions = new Set<ServerHttp2Session>()

  constructor(options: Http2Options) {
    this.#options = options
    const settings = { maxHeaderListSize: toldHeaderBytesMax, maxConcurrentStreams: concurrentStreamsMax }
    const limits = { settings, maxHeaderListPairs: headerPairsMax, maxSessionMemory: sessionMegabytesMax }
    this.#server = createServer(limits, (req, res) => this.#answer(req, res))
    this.#server.on('session', session => this.#watch(session))
  }

  /** Takes over a connection, with its unread bytes put back. */
  serve(socket: Socket): void {
    // A client that will send nothing more is of no use to HTTP/2, not even to read.
    socket.allowHalfOpen = false
    this.#server.emit('connection', socket)
  }

  /** Tells clients to send nothing more (GOAWAY). Connections close when their requests are answered. */
  close(): void {
    for (const session of this.#sessions) session.close()
  }

  /** Closes a connection that does not begin, or had no request for a while. */
  #watch(session: ServerHttp2Session): void {
    const { prefaceMsMax, idleMsMax } = this.#options
    const preface = machine.setTimeout(() => session.destroy(), prefaceMsMax).unref()
    session.once('remoteSettings', () => machine.clearTimeout(preface))
    const waitForRequest = () => machine.setTimeout(() => session.close(), idleMsMax).unref()
    let idle: NodeJS.Timeout | undefined = waitForRequest()
    let streams = 0
    let streamsInTurn = 0
    const endTurn = () => {
      streamsInTurn = 0
    }
    session.on('stream', (stream: ServerHttp2Stream) => {
      if (streamsInTurn === 0) machine.setImmediate(endTurn)
      if (++streamsInTurn > streamsInTurnMax) {
        session.goaway(constants.NGHTTP2_ENHANCE_YOUR_CALM)
        session.destroy()
      }
      streams++
      machine.clearTimeout(idle)
      stream.once('close', () => {
        streams--
        if (streams === 0 && !session.closed) idle = waitForRequest()
      })
    })
    this.#sessions.add(session)
    session.once('close', () => {
      machine.clearTimeout(preface)
      machine.clearTimeout(idle)
      this.#sessions.delete(session)
    })
  }

  #answer(req: Http2ServerRequest, res: Http2ServerResponse): void {
    const { nosql, memory, isProtocolPath, handler, requestMsMax, unreadMsMax } = this.#options
    const { stream, headers, rawHeaders, method } = req
    const url = req.url ?? '/'
    headers.host ??= req.authority
    if (isTooLarge(rawHeaders)) {
      refuseLarge(stream)
      dropBody(req, () => stream.close(constants.NGHTTP2_NO_ERROR))
      return
    }
    if (!isProtocolPath(url)) {
      if (!stream.endAfterHeaders) {
        const limit = machine.setTimeout(() => stream.close(constants.NGHTTP2_CANCEL), requestMsMax).unref()
        stream.once('close', () => machine.clearTimeout(limit))
      }
      // The interfaces are alike, as far as these handlers use them.
      handler(req as unknown as IncomingMessage, res as unknown as ServerResponse)
      return
    }
    const share = memory.shareOf(stream.session ?? stream)
    const send = replyTo(stream, method, unreadMsMax)
    const reply = (answer: HttpAnswer) => {
      send(answer)
      dropBody(req, () => stream.close(constants.NGHTTP2_NO_ERROR))
    }
    const origin = `${'encrypted' in req.socket ? 'https' : 'http'}://${headers.host ?? 'localhost'}`
    const caller = new Caller(stream.session)
    stream.once('close', () => caller.leave())
    carryOut({ nosql, requestMsMax }, { method, url, headers, origin, caller, share }, req, reply)
  }
}

function isTooLarge(rawHeaders: readonly string[]): boolean {
  let bytes = (rawHeaders.length / 2) * fieldBytes
  for (const text of rawHeaders) bytes += text.length
  return bytes > headerBytesMax
}

function refuseLarge(stream: ServerHttp2Stream): void {
  stream.respond({ ':status': 431, 'content-type': 'application/json' })
  stream.end(JSON.stringify(headersTooLarge))
}

function replyTo(stream: ServerHttp2Stream, method: string, unreadMsMax: number): Reply {
  return ({ status, headers, body, bodyBytes, lease }) => {
    if (stream.closed || stream.destroyed) {
      lease?.[Symbol.dispose]()
      return
    }
    if (lease !== undefined) stream.once('close', () => lease[Symbol.dispose]())
    const isEmpty = bodyBytes === 0 || method === 'HEAD'
    stream.respond({ ':status': status, ...fieldsOf(headers) }, { endStream: isEmpty })
    if (isEmpty) return
    if (lease === undefined) stream.end(body, bodyBytes === body.length ? 'latin1' : 'utf8')
    else endInPieces(stream, body)
    // A client that does not take its answer must not keep it in our memory for ever.
    stream.setTimeout(unreadMsMax, () => stream.close(constants.NGHTTP2_CANCEL))
  }
}

/** Header names are in lower case in HTTP/2. */
function fieldsOf(lines: string): Record<string, string> {
  const fields: Record<string, string> = {}
  for (const line of lines.split('\r\n')) {
    const colon = line.indexOf(': ')
    if (colon !== -1) fields[line.slice(0, colon).toLowerCase()] = line.slice(colon + 2)
  }
  return fields
}
