/** Documents that a cursor holds between two batches. One that is dead when a batch is made is left out. */

import { heldHere } from '../../base/memory-account.ts'
import type { Engine } from '../../engine/engine.ts'
import { documentOrigin, type RowOrigins } from '../../query/row-origins.ts'
import type { Collection } from '../collections/collections.ts'
import { WatchedLives } from './watched-lives.ts'

interface Batch {
  readonly documents: Uint8Array[]
  readonly origins: number[]
}

interface BatchLimits {
  readonly documentsMax: number
  readonly bytesMax: number
}

/** What a held document takes besides its bytes. */
export const heldBytes = 100

/** Documents that are judged at a time. */
const judgedMax = 1000

export class HeldDocuments {
  readonly #lives: WatchedLives
  /** The lease of the cursor. */
  readonly #lease = heldHere()
  #bytes = 0
  #documents: readonly Uint8Array[] = []
  #origins: RowOrigins = []
  #at = 0

  constructor(engine: Engine, collection: Collection) {
    this.#lives = new WatchedLives(engine, collection, true)
  }

  get count(): number {
    return this.#documents.length - this.#at
  }

  fill({ documents, origins }: { readonly documents: readonly Uint8Array[]; readonly origins: RowOrigins }): void {
    const before = this.#bytes
    this.#bytes = documents.reduce((sum, { length }) => sum + length + heldBytes, 0)
    this.#lease?.release(before)
    this.#lease?.add(this.#bytes)
    this.#documents = documents
    this.#origins = origins
    this.#at = 0
  }

  /** Moves living documents into a batch, at least one if the batch is empty. Returns their bytes. */
  async take(batch: Batch, limits: BatchLimits): Promise<number> {
    let bytes = 0
    for (let isFull = false; !isFull && this.count > 0 && batch.documents.length < limits.documentsMax; ) {
      const taken = await this.#takeSome(batch, { ...limits, bytesMax: limits.bytesMax - bytes })
      bytes += taken.bytes
      isFull = taken.isFull
    }
    if (this.count === 0) this.fill({ documents: [], origins: [] })
    return bytes
  }

  async #takeSome(batch: Batch, { documentsMax, bytesMax }: BatchLimits): Promise<{ bytes: number; isFull: boolean }> {
    const { number } = this.#lives.collection.container
    const originAt = (at: number) => documentOrigin(number, this.#origins, at)
    const first = this.#at
    const some = Math.min(this.count, judgedMax, documentsMax - batch.documents.length)
    const isAlive = await this.#lives.judge(() => Array.from({ length: some }, (_, at) => originAt(first + at)))
    let bytes = 0
    while (this.#at < first + some) {
      const document = this.#documents[this.#at]!
      if (isAlive === undefined || isAlive(originAt(this.#at))) {
        if (batch.documents.length > 0 && bytes + document.length > bytesMax) return { bytes, isFull: true }
        batch.documents.push(document)
        batch.origins.push(this.#origins[2 * this.#at]!, this.#origins[2 * this.#at + 1]!)
        bytes += document.length
      }
      this.#at++
    }
    return { bytes, isFull: false }
  }
}
