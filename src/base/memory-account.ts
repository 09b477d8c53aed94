/**
 * One account for the bytes that are held for requests: bodies that are still arriving, and answers that
 * their clients have not read.
 *
 * If the account is full, new work is refused until there is room again. Work that has begun goes on.
 */

import { CapacityError } from './error.ts'
import { MiB } from './limits.ts'

/** Long enough for the others to be answered or to be given up. */
const retryAfterMs = 1000

export class MemoryAccount {
  readonly bytesMax: number
  #heldBytes = 0

  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  get heldBytes(): number {
    return this.#heldBytes
  }

  take(bytes: number): void {
    this.#heldBytes += bytes
  }

  giveBack(bytes: number): void {
    this.#heldBytes -= bytes
  }

  /** Throws if new work must wait. */
  checkRoom(): void {
    if (this.#heldBytes < this.bytesMax) return
    throw new CapacityError(
      'throttled',
      `The server holds ${Math.round(this.#heldBytes / MiB)} MB for other requests, and may hold ` +
        `${Math.round(this.bytesMax / MiB)} MB (--memory-budget). Try again later.`,
      retryAfterMs,
    )
  }
}
