/**
 * The fast lane: serves connections without node:http as long as their requests are plain.
 *
 * A connection has one request at a time. A chunk must be one plain request (request-parser.ts), or the
 * beginning of one with a long body. Any other chunk moves the connection to node:http for good. Everything
 * that was read is put back first, so nothing is read twice or lost. Bytes that arrive while a request is
 * being answered are kept until the answer is out.
 */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { machine } from '../../base/clock.ts'
import { ownText } from '../../base/own-text.ts'
import type { HttpAnswer } from '../../nosql/http/transport.ts'
import type { NosqlServer } from '../../nosql/server.ts'
import { readInPlace } from '../sockets/shared-read-buffer.ts'
import { type PlainRequest, parsePlainRequest } from './request-parser.ts'

/** A body that has not arrived by then is left to node:http, which has timeouts for slow connections. */
export const bodyArrivalMsMax = 1000

/** Clients keep connections for minutes. Closing one while it is being reused costs them a retry. */
export const keepAliveMs = 65_000

export interface FastLaneOptions {
  readonly nosql: NosqlServer
  /** Whether a path belongs to the protocol. Requests for other paths go to node:http. */
  readonly isProtocolPath: (url: string) => boolean
  /** Takes over a connection, with its unread bytes put back. */
  readonly handOver: (socket: Socket) => void
}

/** A plain request of which a part of the body is missing. */
class BegunRequest {
  readonly plain: PlainRequest
  readonly #bodyStart: number
  readonly #wholeBytes: number
  /** At most twice as large as what has arrived: a client cannot reserve memory for bytes it never sends. */
  #room: Buffer
  #arrivedBytes: number

  constructor(plain: PlainRequest, chunk: Buffer) {
    this.plain = plain
    this.#bodyStart = chunk.length - plain.body.length
    this.#wholeBytes = chunk.length + plain.missingBytes
    this.#room = this.#roomFor(chunk.length)
    this.#arrivedBytes = chunk.copy(this.#room)
  }

  get missingBytes(): number {
    return this.#wholeBytes - this.#arrivedBytes
  }

  get arrived(): Buffer {
    return this.#room.subarray(0, this.#arrivedBytes)
  }

  get body(): Buffer {
    return this.arrived.subarray(this.#bodyStart)
  }

  /** The chunk must not be longer than what is missing. */
  add(chunk: Buffer): void {
    const { arrived } = this
    const bytes = arrived.length + chunk.length
    if (bytes > this.#room.length) {
      this.#room = this.#roomFor(bytes)
      arrived.copy(this.#room)
    }
    this.#arrivedBytes += chunk.copy(this.#room, arrived.length)
  }

  #roomFor(bytes: number): Buffer {
    return Buffer.allocUnsafeSlow(Math.min(2 * bytes, this.#wholeBytes))
  }
}

export class FastLane {
  readonly #options: FastLaneOptions
  /** For each connection: ends it if it is idle. */
  readonly #endings = new Set<() => void>()
  #outgoing: {
    readonly socket: Socket
    readonly head: string
    readonly body: string | Buffer
    readonly encoding: 'latin1' | 'utf8'
    readonly isLast: boolean
  }[] = []
  #isClosing = false

  constructor(options: FastLaneOptions) {
    this.#options = options
  }

  /** Serves a connection. `first` is what was already read from it. */
  serve(accepted: Socket, first: Buffer): void {
    const { nosql } = this.#options
    const firstRequest = parsePlainRequest(first)
    if (!this.#isOurs(firstRequest)) {
      this.#handOver(accepted, first)
      return
    }
    const reading = readInPlace(accepted, bytes => onData(bytes))
    const { socket } = reading
    let waiting: Buffer | undefined
    let begun: BegunRequest | undefined
    let bodyLimit: NodeJS.Timeout | undefined
    let isBusy = false
    /** The client will send nothing more, but still reads. */
    let hasEnded = false

    const onClose = () => {
      machine.clearTimeout(bodyLimit)
      this.#endings.delete(endIfIdle)
    }
    const endIfIdle = () => {
      if (!isBusy && begun === undefined) socket.end()
    }
    const onTimeout = () => {
      if (!isBusy) socket.destroy()
    }

    const onEnd = () => {
      hasEnded = true
      if (begun !== undefined) socket.destroy()
      // Later, so that an answer that is already queued is written first.
      if (!isBusy) machine.setImmediate(() => socket.end())
    }

    const leave = (bytes: Buffer) => {
      socket.off('end', onEnd)
      socket.off('timeout', onTimeout)
      socket.off('close', onClose)
      onClose()
      socket.setTimeout(0)
      // These answers must be written before those of node:http.
      this.#writeOut()
      reading.end()
      this.#handOver(socket, Buffer.from(bytes))
    }

    const answer = ({ status, headers, body, bodyBytes }: HttpAnswer, isHead: boolean) => {
      isBusy = false
      if (socket.destroyed) return
      const isLast = this.#isClosing || hasEnded
      // ASCII can be written as latin1, which copies the string without looking at every character.
      const encoding = bodyBytes === body.length ? 'latin1' : 'utf8'
      const head = headText(status, headers, isLast)
      this.#outgoing.push({ socket, head, body: isHead ? '' : body, encoding, isLast })
      if (this.#outgoing.length === 1) machine.setImmediate(() => this.#writeOut())
      if (isLast) return
      if (waiting !== undefined) {
        const bytes = waiting
        waiting = undefined
        onData(bytes)
      }
    }

    const onData = (chunk: Buffer) => {
      // We have ended our side and could not answer, so the request must not be executed.
      if (socket.writableEnded) return
      if (isBusy) {
        waiting = waiting === undefined ? Buffer.from(chunk) : Buffer.concat([waiting, chunk])
        // Do not read more from a client that sends before it has its answer.
        socket.pause()
        return
      }
      if (socket.isPaused()) socket.resume()
      if (begun !== undefined) {
        goOn(begun, chunk)
        return
      }
      const plain = parsePlainRequest(chunk)
      if (this.#isOurs(plain)) take(plain, chunk)
      else leave(chunk)
    }

    const take = (plain: PlainRequest, chunk: Buffer) => {
      if (plain.missingBytes === 0) {
        handle(plain, plain.body.length === 0 ? plain.body : Buffer.from(plain.body))
        return
      }
      const begins = new BegunRequest(plain, chunk)
      begun = begins
      bodyLimit = machine.setTimeout(() => leave(begins.arrived), bodyArrivalMsMax).unref()
    }

    const goOn = (from: BegunRequest, chunk: Buffer) => {
      if (chunk.length > from.missingBytes) {
        leave(Buffer.concat([from.arrived, chunk]))
        return
      }
      from.add(chunk)
      if (from.missingBytes > 0) return
      begun = undefined
      machine.clearTimeout(bodyLimit)
      handle(from.plain, from.body)
    }

    const handle = ({ method, url, headers }: PlainRequest, body: Buffer) => {
      isBusy = true
      const request = { method, url, headers, body, origin: `http://${headers.host}` }
      nosql.handle(request, reply => answer(reply, method === 'HEAD'))
    }

    socket.on('end', onEnd)
    socket.on('close', onClose)
    socket.setTimeout(keepAliveMs, onTimeout)
    this.#endings.add(endIfIdle)
    take(firstRequest, first)
  }

  #handOver(socket: Socket, unread: Buffer): void {
    socket.pause()
    socket.unshift(unread)
    this.#options.handOver(socket)
    socket.resume()
  }

  #isOurs(plain: PlainRequest | undefined): plain is PlainRequest {
    return plain !== undefined && this.#options.isProtocolPath(plain.url)
  }

  /**
   * Writes the answers of one turn of the event loop together. Waking a sleeping client process costs more
   * than a write. When answers follow each other closely, only the first one has to wake it.
   */
  #writeOut(): void {
    const answers = this.#outgoing
    this.#outgoing = []
    for (const { socket, head, body, encoding, isLast } of answers) {
      if (socket.destroyed) continue
      if (typeof body === 'string') {
        socket.write(head + body, encoding)
      } else {
        // Two buffers are written in one call and not copied. With a string, Node would copy everything
        // (measured: 0.3 ms for 130 KB).
        socket.cork()
        socket.write(Buffer.from(head, 'latin1'))
        socket.write(body)
        socket.uncork()
      }
      if (isLast) socket.end()
    }
  }

  /** Ends idle connections now, and busy ones after their answer. */
  close(): void {
    this.#isClosing = true
    this.#writeOut()
    for (const endIfIdle of this.#endings) endIfIdle()
  }
}

function headText(status: number, headers: string, isLast: boolean): string {
  const connection = isLast ? 'Connection: close' : keepAlive
  return (
    `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${headers}Date: ` +
    `${httpDate()}\r\n${connection}\r\n\r\n`
  )
}

const keepAlive = ownText(`Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}`)

let dateSecond = -1
let dateText = ''

/** The value of the Date header, made once a second. */
function httpDate(): string {
  const second = Math.floor(machine.epochMs() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}
