/** The counts on the filters: asked once for a query, then kept true by what the live connection says. */

import { signal } from '@preact/signals'
import { getCounts } from '../../api/calls.ts'
import { isAborted } from '../../api/client.ts'
import type { Container, ContainerName, Counts } from '../../api/shapes.ts'

/** Deaths, writes and jumps may come fast: one question answers them all. */
const settleMs = 1500

export class ListCounts {
  readonly counts = signal<Counts | undefined>(undefined)
  readonly #name: ContainerName
  #query = ''
  #abort = new AbortController()
  #timer: ReturnType<typeof setTimeout> | undefined

  constructor(name: ContainerName) {
    this.#name = name
  }

  async ask(query = this.#query): Promise<void> {
    clearTimeout(this.#timer)
    this.#timer = undefined
    this.#abort.abort()
    this.#abort = new AbortController()
    if (query !== this.#query) this.counts.value = undefined
    this.#query = query
    try {
      this.counts.value = await getCounts(this.#name, query, this.#abort.signal)
    } catch (error) {
      if (!isAborted(error)) this.counts.value = undefined
    }
  }

  /** Asks again, soon, however often it is called. */
  askSoon(): void {
    this.#timer ??= setTimeout(() => void this.ask(), settleMs)
  }

  dispose(): void {
    clearTimeout(this.#timer)
    this.#abort.abort()
  }
}

/**
 * Without a query the tree's live numbers are newer than those that were asked, which may count some who are
 * dead by now.
 */
export function withLiveCounts(
  counts: Counts | undefined,
  container: Container,
  query: string,
  withinMinute: number | undefined,
): Counts | undefined {
  if (query !== '') return counts
  const { living, dead } = container
  return {
    all: living,
    dead,
    minute: Math.min(living, withinMinute ?? counts?.minute ?? 0),
    never: Math.min(living, counts?.never ?? 0),
    isAbout: container.isAbout || (counts?.isAbout ?? false),
  }
}
