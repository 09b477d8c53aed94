/**
 * Reads the sizes of the chunks of a body as they arrive, so that a body with a chunk that is too long is
 * refused before that chunk has arrived.
 *
 * node:http does not tell the sizes, so this file reads the same bytes from the socket. Bytes that arrived
 * together with the head are known only to Node's parser, whose method `getCurrentBuffer` is not documented.
 * Without that method, such bodies wait for their deadline.
 */

import type { IncomingMessage } from 'node:http'
import type { Socket } from 'node:net'

const lf = 0x0a
const crlfBytes = 2
const headEnd = Buffer.from('\r\n\r\n')

/** node:http refuses larger numbers by itself. */
const digitsMax = 16

/** The sizes in the bytes of a chunked body. */
export class ChunkSizes {
  readonly #bytesMax: number
  /** Bytes of the present chunk that are still to come, with the end of its line. */
  #left = 0
  #size = 0
  #digits = 0
  #isInSize = true
  /** Reading has ended: the last chunk has come, or the body is broken. */
  isOver = false
  isTooLong = false

  constructor(bytesMax: number) {
    this.#bytesMax = bytesMax
  }

  read(bytes: Buffer): void {
    let at = 0
    while (at < bytes.length && !this.isOver) {
      if (this.#left > 0) {
        const skipped = Math.min(this.#left, bytes.length - at)
        this.#left -= skipped
        at += skipped
      } else {
        this.#readOfLine(bytes[at++]!)
      }
    }
  }

  #readOfLine(byte: number): void {
    const digit = this.#isInSize ? digitOf(byte) : undefined
    if (digit !== undefined) {
      if (this.#size > 0 || digit > 0) this.#digits++
      this.#size = this.#size * 16 + digit
      return
    }
    if (this.#isInSize) this.#endSize()
    if (byte !== lf) return
    this.#left = this.#size + crlfBytes
    this.#size = 0
    this.#digits = 0
    this.#isInSize = true
  }

  #endSize(): void {
    // What follows up to the end of the line is an extension.
    this.#isInSize = false
    // The last chunk has size 0, which has no digits but leading zeros.
    if (this.#digits === 0 || this.#digits > digitsMax) this.isOver = true
    else if (this.#size > this.#bytesMax) this.isOver = this.isTooLong = true
  }
}

function digitOf(byte: number): number | undefined {
  if (byte >= 0x30 && byte <= 0x39) return byte - 0x30
  const letter = byte | 0x20
  return letter >= 0x61 && letter <= 0x66 ? letter - 0x61 + 10 : undefined
}

export interface WatchedChunks {
  readonly isTooLong: boolean
  /** Called at most once, if a later chunk is too long. */
  onTooLong: () => void
}

/** For a request that has just begun. Undefined if its body does not come in chunks. */
export function watchChunks(req: IncomingMessage, bytesMax: number): WatchedChunks | undefined {
  const coding = req.headers['transfer-encoding']
  if (coding === undefined) return undefined
  const sizes = new ChunkSizes(bytesMax)
  const watched = {
    get isTooLong() {
      return sizes.isTooLong
    },
    onTooLong: () => {},
  }
  const arrived = arrivedWithHead(req)
  if (arrived === undefined) return watched
  sizes.read(arrived)
  if (sizes.isOver) return watched
  const { socket } = req
  const onData = (bytes: Buffer) => {
    sizes.read(bytes)
    if (sizes.isOver) end()
    if (sizes.isTooLong) watched.onTooLong()
  }
  const end = () => socket.off('data', onData)
  socket.on('data', onData)
  req.once('close', end)
  return watched
}

/** The part of the body that was read together with the end of the head. Undefined if it is not known. */
function arrivedWithHead({ socket, method, url }: IncomingMessage): Buffer | undefined {
  const { parser } = socket as Socket & { parser?: { getCurrentBuffer?: () => Buffer | undefined } }
  const read = parser?.getCurrentBuffer?.()
  if (read === undefined) return undefined
  // The same read may begin with other requests. If it has no head of this one, the head began earlier.
  const start = Math.max(0, read.indexOf(`${method} ${url} HTTP/`, 0, 'latin1'))
  const end = read.indexOf(headEnd, start)
  return end < 0 ? undefined : read.subarray(end + headEnd.length)
}
