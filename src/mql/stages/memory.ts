/** Counts the memory that a stage holds, against its limit. */

import { MiB } from '../../base/limits.ts'
import { heldHere } from '../../base/memory-account.ts'
import { MongoError } from '../errors/mongo-error.ts'

/** Most memory that one stage may hold: MongoDB's limit, beyond which it spills to disk or fails. */
export const aggregationMemoryBytesMax = 100 * MiB

const noDiskUse = 292

export function refuseGroupMemory(name: string): MongoError {
  return new MongoError(
    noDiskUse,
    `Exceeded memory limit for ${name}, but didn't allow external sort. Pass allowDiskUse:true to opt in.`,
  )
}

export function refuseSortMemory(): MongoError {
  return new MongoError(
    noDiskUse,
    `Sort exceeded memory limit of ${aggregationMemoryBytesMax} bytes, but did not opt in to external sorting.`,
  )
}

/** MongoDB's code and words. */
export function refuseWindowMemory(): MongoError {
  return new MongoError(
    5643011,
    `Exceeded memory limit in DocumentSourceSetWindowFields, max allowed is ${aggregationMemoryBytesMax} bytes`,
  )
}

export function refuseDensifyMemory(): MongoError {
  return new MongoError(
    6007200,
    `$densify exceeded memory limit of ${aggregationMemoryBytesMax} bytes for its partitions`,
  )
}

/** Bytes that documents and groups take in the heap, for each byte of BSON. */
const heldFactor = 1.5

export class Memory implements Disposable {
  readonly #refusal: () => MongoError
  /** The lease of the cursor or command that runs the pipeline. */
  readonly #lease = heldHere()
  #bytes = 0

  constructor(refusal: () => MongoError) {
    this.#refusal = refusal
  }

  /** Adds bytes; a negative number frees them. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > aggregationMemoryBytesMax) throw this.#refusal()
    if (bytes > 0) this.#lease?.add(heldFactor * bytes)
    else this.#lease?.release(heldFactor * -bytes)
  }

  /** Frees all bytes: the stage has given all its documents. */
  [Symbol.dispose](): void {
    this.#lease?.release(heldFactor * this.#bytes)
    this.#bytes = 0
  }
}
