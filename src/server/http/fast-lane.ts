/**
 * The fast lane: serves connections without node:http as long as their requests are plain.
 *
 * A connection has one request at a time. A chunk must be one plain request (request-parser.ts), or the
 * beginning of one with a long body. Any other chunk moves the connection to node:http for good. Everything
 * that was read is put back first, so nothing is read twice or lost. Bytes that arrive while a request is
 * being answered are kept until the answer is out. The head of a request with a long body is checked before
 * its body is taken. If it is refused, the connection ends with the answer.
 */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { Caller } from '../../base/caller.ts'
import { machine } from '../../base/clock.ts'
import { giveUp } from '../../base/large-buffer.ts'
import type { MemoryAccount, MemoryLease, MemoryShare } from '../../base/memory-account.ts'
import { ownText } from '../../base/own-text.ts'
import { watchSlowReader } from '../../base/slow-reader.ts'
import type { HttpAnswer } from '../../nosql/http/transport.ts'
import type { NosqlServer } from '../../nosql/server.ts'
import { readInPlace } from '../sockets/shared-read-buffer.ts'
import { ArrivingBody } from './arriving-body.ts'
import { lingerMs, requestMsMax, tooSlow } from './collect-body.ts'
import { type PlainRequest, parsePlainRequest } from './request-parser.ts'

/** Clients keep connections for minutes. Closing one while it is being reused costs them a retry. */
export const keepAliveMs = 65_000

/**
 * A client that says that it will send nothing more may still read, or may have gone: TCP does not tell.
 * Work that takes longer than this ends.
 */
export const halfClosedMsMax = 1000

export interface FastLaneOptions {
  readonly nosql: NosqlServer
  readonly memory: MemoryAccount
  /** Whether a path belongs to the protocol. Requests for other paths go to node:http. */
  readonly isProtocolPath: (url: string) => boolean
  /** Takes over a connection, with its unread bytes put back. */
  readonly handOver: (socket: Socket) => void
}

/** The body of a plain request that has not arrived completely. */
class PlainBody {
  readonly whole: Promise<Buffer>
  readonly #body: ArrivingBody
  readonly #deadline: NodeJS.Timeout
  readonly #resolve: (body: Buffer) => void
  readonly #reject: (error: unknown) => void

  constructor({ body, missingBytes }: PlainRequest, share: MemoryShare) {
    const { promise, resolve, reject } = Promise.withResolvers<Buffer>()
    // If the request is refused before its body is awaited, a rejection must not count as unhandled.
    promise.catch(() => {})
    this.whole = promise
    this.#resolve = resolve
    this.#reject = reject
    this.#deadline = machine.setTimeout(() => reject(tooSlow()), requestMsMax).unref()
    this.#body = new ArrivingBody(share, body.length + missingBytes)
    this.add(body)
  }

  get missingBytes(): number {
    return this.#body.missingBytes
  }

  /** The chunk must not be longer than `missingBytes`. */
  add(chunk: Buffer): void {
    try {
      this.#body.add(chunk)
    } catch (error) {
      this.#reject(error)
      return
    }
    if (this.missingBytes > 0) return
    this.end()
    this.#resolve(this.#body.bytes)
  }

  /** Called when the body is complete, or not needed any more. */
  end(): void {
    machine.clearTimeout(this.#deadline)
    this.#body[Symbol.dispose]()
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
    readonly lease: MemoryLease | undefined
  }[] = []
  #isClosing = false

  constructor(options: FastLaneOptions) {
    this.#options = options
  }

  /** Serves a connection. `first` is what was already read from it. */
  serve(accepted: Socket, first: Buffer): void {
    const { nosql, memory } = this.#options
    const firstRequest = parsePlainRequest(first)
    if (!this.#isOurs(firstRequest)) {
      this.#handOver(accepted, first)
      return
    }
    const reading = readInPlace(accepted, bytes => onData(bytes))
    const { socket } = reading
    const caller = new Caller(socket)
    const share = memory.shareOf(socket)
    let waiting: Buffer | undefined
    let arriving: PlainBody | undefined
    let linger: NodeJS.Timeout | undefined
    let departure: NodeJS.Timeout | undefined
    let isBusy = false
    /** The client will send nothing more, but still reads. */
    let hasEnded = false
    /** The rest of a body must not be taken for a request. */
    let hasRefused = false

    const onClose = () => {
      machine.clearTimeout(linger)
      machine.clearTimeout(departure)
      caller.leave()
      arriving?.end()
      arriving = undefined
      this.#endings.delete(endIfIdle)
    }
    const endIfIdle = () => {
      if (!isBusy && arriving === undefined) socket.end()
    }
    const onTimeout = () => {
      if (!isBusy) socket.destroy()
    }

    const onEnd = () => {
      hasEnded = true
      if (arriving !== undefined) socket.destroy()
      // Later, so that an answer that is already queued is written first.
      if (!isBusy) machine.setImmediate(() => socket.end())
      else departure = machine.setTimeout(() => caller.leave(), halfClosedMsMax).unref()
    }

    const leave = (bytes: Buffer) => {
      socket.off('end', onEnd)
      socket.off('timeout', onTimeout)
      socket.off('close', onClose)
      socket.off('drain', goOnWithWaiting)
      onClose()
      socket.setTimeout(0)
      // These answers must be written before those of node:http.
      this.#writeOut()
      reading.end()
      this.#handOver(socket, Buffer.from(bytes))
    }

    const answer = ({ status, headers, body, bodyBytes, lease }: HttpAnswer, isHead: boolean) => {
      isBusy = false
      if (socket.destroyed) {
        lease?.[Symbol.dispose]()
        return
      }
      if (arriving !== undefined) giveUpBody(arriving)
      const isLast = this.#isClosing || hasEnded || hasRefused
      // ASCII can be written as latin1, which copies the string without looking at every character.
      const encoding = bodyBytes === body.length ? 'latin1' : 'utf8'
      const head = headText(status, headers, isLast)
      this.#outgoing.push({ socket, head, body: isHead ? '' : body, encoding, isLast, lease })
      if (this.#outgoing.length === 1) machine.setImmediate(() => this.#writeOut())
      if (!isLast) goOnWithWaiting()
    }

    const goOnWithWaiting = () => {
      if (waiting === undefined || isBusy) return
      const bytes = waiting
      waiting = undefined
      onData(bytes)
    }

    const onData = (chunk: Buffer) => {
      // The server has ended its side and could not answer, so the request must not be executed.
      if (socket.writableEnded || hasRefused) return
      if (isBusy || socket.writableNeedDrain) {
        waiting = waiting === undefined ? Buffer.from(chunk) : Buffer.concat([waiting, chunk])
        // Do not read more from a client that sends before it has read its answer.
        socket.pause()
        return
      }
      if (socket.isPaused()) socket.resume()
      if (arriving !== undefined) {
        goOn(arriving, chunk)
        return
      }
      const plain = parsePlainRequest(chunk)
      if (this.#isOurs(plain)) take(plain)
      else leave(chunk)
    }

    const take = (plain: PlainRequest) => {
      const { method, url, headers } = plain
      const body = plain.body.length === 0 ? plain.body : Buffer.from(plain.body)
      const request = { method, url, headers, body, origin: `http://${headers.host}`, caller, share }
      const reply = (made: HttpAnswer) => answer(made, method === 'HEAD')
      if (plain.missingBytes === 0) {
        isBusy = true
        nosql.handle(request, reply)
        return
      }
      const begun = new PlainBody(plain, share)
      arriving = begun
      let isWanted = false
      nosql.receive(request, reply, () => {
        isWanted = true
        socket.resume()
        return begun.whole
      })
      if (!isWanted) socket.pause()
    }

    const goOn = (begun: PlainBody, chunk: Buffer) => {
      const rest = chunk.subarray(begun.missingBytes)
      if (rest.length < chunk.length) begun.add(chunk.subarray(0, chunk.length - rest.length))
      if (begun.missingBytes > 0) return
      arriving = undefined
      isBusy = true
      if (rest.length > 0) onData(rest)
    }

    const giveUpBody = (begun: PlainBody) => {
      begun.end()
      arriving = undefined
      hasRefused = true
      linger = machine.setTimeout(() => socket.destroy(), lingerMs).unref()
      socket.resume()
    }

    socket.on('end', onEnd)
    socket.on('close', onClose)
    socket.on('drain', goOnWithWaiting)
    socket.setTimeout(keepAliveMs, onTimeout)
    this.#endings.add(endIfIdle)
    take(firstRequest)
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
    for (const { socket, head, body, encoding, isLast, lease } of answers) {
      // Called when the answer was written, or when the socket is closed before that.
      const taken =
        lease &&
        (() => {
          lease[Symbol.dispose]()
          if (typeof body !== 'string') giveUp(body)
        })
      if (typeof body === 'string') {
        socket.write(head + body, encoding, taken)
      } else {
        // Two buffers are written in one call and not copied. With a string, Node would copy everything
        // (measured: 0.3 ms for 130 KB).
        socket.cork()
        socket.write(Buffer.from(head, 'latin1'))
        socket.write(body, taken)
        socket.uncork()
      }
      if (socket.writableNeedDrain) watchSlowReader(socket)
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
