/**
 * Cuts messages out of a byte stream. A chunk may hold many messages, and a message may take many chunks.
 *
 * A message inside one chunk is used in place. Otherwise its chunks are collected in a list and joined once:
 * joining at every chunk costs 3.6 times as much for a message of 860 KB.
 */

/** MongoDB's own limit, which `hello` tells to drivers. */
export const mongoMessageBytesMax = 48_000_000

/**
 * Chunks that are kept before they are joined. The limit protects against clients that send single bytes.
 */
const mongoMessagePartsMax = 1024

export const headerBytes = 16

const lengthBytes = 4

/** The stream is broken. The connection must be closed. */
export class FramingError extends Error {
  override readonly name = 'FramingError'
}

export class FrameReader {
  readonly #onMessage: (message: Buffer) => void
  /** The longest message that is accepted. Before login the limit is lower. */
  bytesMax: number
  /** Parts of an incomplete message: first those already joined, then the latest chunks. */
  #joined: Buffer[] = []
  #chunks: Buffer[] = []
  #bytes = 0
  /** The length of the incomplete message, once its header is there. */
  #wanted = 0

  constructor(onMessage: (message: Buffer) => void, bytesMax = mongoMessageBytesMax) {
    this.#onMessage = onMessage
    this.bytesMax = bytesMax
  }

  /** Whether a part of a message has arrived, and the rest has not. */
  get isInMessage(): boolean {
    return this.#bytes > 0
  }

  push(chunk: Buffer): void {
    if (this.#bytes === 0) {
      this.#split(chunk)
      return
    }
    this.#keep(chunk)
    if (this.#wanted === 0 && this.#bytes >= lengthBytes) this.#wanted = this.#lengthAt(this.#take(), 0)
    if (this.#bytes >= lengthBytes && this.#bytes >= this.#wanted) {
      const whole = this.#take()
      this.#forget()
      this.#split(whole)
    }
  }

  #split(chunk: Buffer): void {
    let at = 0
    while (chunk.length - at >= lengthBytes) {
      const length = this.#lengthAt(chunk, at)
      if (chunk.length - at < length) {
        this.#wanted = length
        break
      }
      this.#onMessage(chunk.subarray(at, at + length))
      at += length
    }
    if (at < chunk.length) this.#keep(at === 0 ? chunk : chunk.subarray(at))
  }

  #lengthAt(bytes: Buffer, at: number): number {
    const length = bytes.readInt32LE(at)
    if (length < headerBytes || length > this.bytesMax) throw new FramingError(`a message of ${length} bytes`)
    return length
  }

  #keep(chunk: Buffer): void {
    this.#chunks.push(chunk)
    this.#bytes += chunk.length
    if (this.#chunks.length === mongoMessagePartsMax) {
      this.#joined.push(Buffer.concat(this.#chunks))
      this.#chunks = []
    }
  }

  /** Everything collected so far, in one piece. */
  #take(): Buffer {
    const whole = Buffer.concat([...this.#joined, ...this.#chunks], this.#bytes)
    this.#joined = [whole]
    this.#chunks = []
    return whole
  }

  #forget(): void {
    this.#joined = []
    this.#chunks = []
    this.#bytes = 0
    this.#wanted = 0
  }
}
