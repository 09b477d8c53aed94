/**
 * Remembers partition keys that are too large for one scan, so that not every query has to find out again.
 *
 * It is only a hint: if a partition has shrunk, reading it through an index is no worse than before.
 */

import type { ContainerRecord } from '../store/catalog.ts'

/** Most partition keys remembered; usually less than a megabyte. */
const largePartitionsMax = 10_000

export class LargePartitions {
  readonly #known = new Set<string>()

  has(container: ContainerRecord, pk: string): boolean {
    return this.#known.has(nameOf(container, pk))
  }

  add(container: ContainerRecord, pk: string): void {
    if (this.#known.size >= largePartitionsMax) this.#known.clear()
    this.#known.add(nameOf(container, pk))
  }
}

function nameOf({ number }: ContainerRecord, pk: string): string {
  return `${number} ${pk}`
}
