/**
 * Remembers partition keys that are too large to be read as a whole, so that each query need not find out
 * anew.
 *
 * It is a memory and no promise: a partition that has shrunk is read through its index, which is no worse
 * than before.
 */

import type { ContainerRecord } from '../store/catalog.ts'

/** Large partition keys that are remembered; names of them, a megabyte at most in ordinary use. */
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
