/**
 * Cuts messages out of a byte stream. A chunk may hold many messages, and a message may take many chunks.
 *
 * A message inside one chunk is used in place. Otherwise its parts are copied into one buffer of its length:
 * one copy, however many parts there are. What the buffer takes is counted before it is made.
 */

import { largeBuffer } from '../../base/large-buffer.ts'
import type { MemoryLease } from '../../base/memory-account.ts'

/** MongoDB's own limit, which `hello` tells to drivers. */
export const mongoMessageBytesMax = 48_000_000

export const headerBytes = 16

const lengthBytes = 4

/** The stream is broken. The connection must be closed. */
export class FramingError extends Error {
  override readonly name = 'FramingError'
}

export interface FrameReaderOptions {
  /** The lease of a message that takes several chunks goes with it. */
  readonly onMessage: (message: Buffer, lease: MemoryLease | undefined) => void
  /** Takes memory for a whole message. Undefined: there is none now, and the rest of the chunk must wait. */
  readonly hold: (bytes: number) => MemoryLease | undefined
  /** The longest message that is accepted. */
  readonly bytesMax?: number
}

export class FrameReader {
  readonly #options: FrameReaderOptions
  /** Before login the limit is lower. */
  bytesMax: number
  /** The start of a message whose length has not arrived whole. */
  #start: Buffer = Buffer.alloc(0)
  #message: { readonly bytes: Buffer; readonly lease: MemoryLease; arrived: number } | undefined
  /** What could not be taken yet. */
  #rest: Buffer | undefined

  constructor(options: FrameReaderOptions) {
    this.#options = options
    this.bytesMax = options.bytesMax ?? mongoMessageBytesMax
  }

  /** Whether a part of a message has arrived, and the rest has not. */
  get isInMessage(): boolean {
    return this.#message !== undefined || this.#start.length > 0 || this.#rest !== undefined
  }

  /** There is no memory for the next message. Until `goOn` has succeeded, push nothing. */
  get isWaiting(): boolean {
    return this.#rest !== undefined
  }

  push(chunk: Buffer): void {
    const message = this.#message
    if (message === undefined) {
      this.#split(this.#start.length === 0 ? chunk : Buffer.concat([this.#start, chunk]))
      return
    }
    const { bytes, lease, arrived } = message
    const taken = chunk.copy(bytes, arrived)
    message.arrived += taken
    if (message.arrived < bytes.length) return
    this.#message = undefined
    this.#options.onMessage(bytes, lease)
    if (taken < chunk.length) this.#split(chunk.subarray(taken))
  }

  /** Tries again to take what had to wait. */
  goOn(): void {
    const rest = this.#rest
    this.#rest = undefined
    if (rest !== undefined) this.#split(rest)
  }

  /** Nothing more will come. */
  end(): void {
    this.#message?.lease[Symbol.dispose]()
    this.#message = undefined
    this.#rest = undefined
  }

  #split(chunk: Buffer): void {
    this.#start = Buffer.alloc(0)
    let at = 0
    while (chunk.length - at >= lengthBytes) {
      const length = this.#lengthAt(chunk, at)
      if (chunk.length - at < length) {
        this.#begin(chunk.subarray(at), length)
        return
      }
      this.#options.onMessage(chunk.subarray(at, at + length), undefined)
      at += length
    }
    if (at < chunk.length) this.#start = Buffer.from(chunk.subarray(at))
  }

  #begin(part: Buffer, length: number): void {
    const lease = this.#options.hold(length)
    if (lease === undefined) {
      this.#rest = part
      return
    }
    const bytes = largeBuffer(length)
    this.#message = { bytes, lease, arrived: part.copy(bytes) }
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readInt32LE(at)
    if (length < headerBytes || length > this.bytesMax) throw new FramingError(`a message of ${length} bytes`)
    return length
  }
}
