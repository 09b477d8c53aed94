/**
 * The fast lane: connections whose requests are all plain are served without node:http.
 *
 * One request at a time. The first chunk that is not exactly one plain request (request-parser.ts), or the beginning of one
 * with a long body, moves the connection to node:http for good, with all that was read put back, so nothing is read twice or
 * lost. Bytes that arrive while an answer is being made are kept and looked at afterwards.
 */

import { STATUS_CODES } from 'node:http'
import type { Socket } from 'node:net'
import { machine } from '../base/clock.ts'
import { bodyArrivalMsMax, keepAliveMs } from '../base/limits.ts'
import type { NosqlServer } from '../nosql/server.ts'
import type { HttpAnswer } from '../nosql/transport.ts'
import { type PlainRequest, parsePlainRequest } from './request-parser.ts'

export interface FastLaneOptions {
  readonly nosql: NosqlServer
  /** Whether a path is for the protocol; others belong to node:http. */
  readonly isProtocolPath: (url: string) => boolean
  /** Takes over a connection; its unread bytes are put back before. */
  readonly handOver: (socket: Socket) => void
}

/** A plain request whose body has not arrived whole. */
interface Begun {
  readonly plain: PlainRequest
  /** All that was read of it. */
  readonly chunks: Buffer[]
  missingBytes: number
  readonly limit: NodeJS.Timeout
}

export class FastLane {
  readonly #options: FastLaneOptions
  /** Of every connection here, what ends it unless it is busy. */
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

  /** Serves a connection, beginning with bytes that were read from it already. */
  serve(socket: Socket, first: Buffer): void {
    const { nosql, isProtocolPath, handOver } = this.#options
    let waiting: Buffer | undefined
    let begun: Begun | undefined
    let isBusy = false
    /** The client will say nothing more; it still listens. */
    let hasEnded = false

    const onClose = () => {
      if (begun !== undefined) machine.clearTimeout(begun.limit)
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
      // Behind an answer that is about to leave.
      if (!isBusy) machine.setImmediate(() => socket.end())
    }

    const leave = (bytes: Buffer) => {
      socket.off('data', onData)
      socket.off('end', onEnd)
      socket.off('timeout', onTimeout)
      socket.off('close', onClose)
      onClose()
      socket.setTimeout(0)
      socket.pause()
      socket.unshift(bytes)
      handOver(socket)
      socket.resume()
    }

    const answer = ({ status, headers, body, bodyBytes }: HttpAnswer, isHead: boolean) => {
      isBusy = false
      if (socket.destroyed) return
      const isLast = this.#isClosing || hasEnded
      // ASCII is written as it is stored in memory, without a look at every character.
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
      // What arrives after we have said goodbye could not be answered, so it must not be done.
      if (socket.writableEnded) return
      if (isBusy) {
        waiting = waiting === undefined ? chunk : Buffer.concat([waiting, chunk])
        // A client that talks on without listening is stopped until its answer is out.
        socket.pause()
        return
      }
      if (socket.isPaused()) socket.resume()
      if (begun !== undefined) {
        goOn(begun, chunk)
        return
      }
      const plain = parsePlainRequest(chunk)
      if (plain === undefined || !isProtocolPath(plain.url)) {
        leave(chunk)
        return
      }
      if (plain.missingBytes === 0) {
        handle(plain, plain.body)
        return
      }
      const chunks = [chunk]
      const limit = machine.setTimeout(() => leave(Buffer.concat(chunks)), bodyArrivalMsMax).unref()
      begun = { plain, chunks, missingBytes: plain.missingBytes, limit }
    }

    const goOn = (from: Begun, chunk: Buffer) => {
      from.chunks.push(chunk)
      from.missingBytes -= chunk.length
      if (from.missingBytes > 0) return
      if (from.missingBytes < 0) {
        leave(Buffer.concat(from.chunks))
        return
      }
      begun = undefined
      machine.clearTimeout(from.limit)
      handle(from.plain, Buffer.concat([from.plain.body, ...from.chunks.slice(1)]))
    }

    const handle = ({ method, url, headers }: PlainRequest, body: Buffer) => {
      isBusy = true
      const request = { method, url, headers, body, origin: `http://${headers.host}` }
      nosql.handle(request, reply => answer(reply, method === 'HEAD'))
    }

    socket.on('data', onData)
    socket.on('end', onEnd)
    socket.on('close', onClose)
    socket.setTimeout(keepAliveMs, onTimeout)
    this.#endings.add(endIfIdle)
    onData(first)
  }

  /**
   * Answers leave together at the end of the turn. A client that is asleep costs its waking, more than the write itself; of
   * answers that follow each other closely only the first one pays it.
   */
  #writeOut(): void {
    const answers = this.#outgoing
    this.#outgoing = []
    for (const { socket, head, body, encoding, isLast } of answers) {
      if (socket.destroyed) continue
      if (typeof body === 'string') {
        socket.write(head + body, encoding)
      } else {
        // Two buffers leave in one call, uncopied; a text among them would cost a copy of all (measured: 0.3 ms for 130 KB).
        socket.cork()
        socket.write(Buffer.from(head, 'latin1'))
        socket.write(body)
        socket.uncork()
      }
      if (isLast) socket.end()
    }
  }

  /** Ends idle connections now and busy ones with their answer. */
  close(): void {
    this.#isClosing = true
    this.#writeOut()
    for (const endIfIdle of this.#endings) endIfIdle()
  }
}

function headText(status: number, headers: string, isLast: boolean): string {
  const connection = isLast ? 'Connection: close' : keepAlive
  return `HTTP/1.1 ${status} ${STATUS_CODES[status] ?? 'Unknown'}\r\n${headers}Date: ${httpDate()}\r\n${connection}\r\n\r\n`
}

const keepAlive = `Connection: keep-alive\r\nKeep-Alive: timeout=${keepAliveMs / 1000}`

let dateSecond = -1
let dateText = ''

/** Made once a second. */
function httpDate(): string {
  const second = Math.floor(machine.epochMs() / 1000)
  if (second !== dateSecond) {
    dateSecond = second
    dateText = new Date(second * 1000).toUTCString()
  }
  return dateText
}
