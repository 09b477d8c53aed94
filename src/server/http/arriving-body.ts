/** The room for a body that arrives in parts: one buffer of its final size. It takes memory as it fills. */

import { largeBuffer } from '../../base/large-buffer.ts'
import { requestBytesMax } from '../../base/limits.ts'
import type { MemoryLease, MemoryShare } from '../../base/memory-account.ts'

export class ArrivingBody implements Disposable {
  readonly #lease: MemoryLease
  readonly #room: Buffer
  #arrivedBytes = 0

  /** A body without a length gets room for the largest one that is allowed. */
  constructor(share: MemoryShare, wholeBytes = requestBytesMax) {
    this.#lease = share.hold('bodies')
    this.#room = largeBuffer(wholeBytes)
  }

  get missingBytes(): number {
    return this.#room.length - this.#arrivedBytes
  }

  /** Throws if there is no memory. The chunk must not be longer than `missingBytes`. */
  add(chunk: Buffer): void {
    this.#lease.add(chunk.length)
    this.#arrivedBytes += chunk.copy(this.#room, this.#arrivedBytes)
  }

  /** The part that has arrived. */
  get bytes(): Buffer {
    return this.#room.subarray(0, this.#arrivedBytes)
  }

  /** Called when the body is complete, or not needed any more. */
  [Symbol.dispose](): void {
    this.#lease[Symbol.dispose]()
  }
}
