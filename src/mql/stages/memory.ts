/** The memory limit of a stage. */

import { MiB } from '../../base/limits.ts'
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

export class Memory {
  readonly #refusal: () => MongoError
  #bytes = 0

  constructor(refusal: () => MongoError) {
    this.#refusal = refusal
  }

  /** Adds bytes; a negative number frees them. */
  add(bytes: number): void {
    this.#bytes += bytes
    if (this.#bytes > aggregationMemoryBytesMax) throw this.#refusal()
  }
}
