/**
 * Remembers how changes were asked for, which the change log does not record: as the replacement of a whole
 * document, or in a transaction.
 *
 * A change is identified by the version that it replaces or deletes. The version that it makes is not known
 * before it is stored, and then streams may read it at once. A created document is identified by its key and
 * its second.
 */

import type { EpochSeconds } from '../../base/clock.ts'
import type { ItemKey } from '../../store/item.ts'

/** How many changes are remembered. Of an older one the event says nothing of its origin. */
const mongoOriginsMax = 10_000

export interface ChangeOrigin {
  readonly isReplacement: boolean
  readonly transaction?:
    | { readonly number: bigint; readonly session: Uint8Array; readonly user: Uint8Array }
    | undefined
}

/** A change before it is stored, or as the log has it. */
export interface TracedChange {
  readonly key: ItemKey
  readonly ts: EpochSeconds
  readonly previous: { readonly version: number } | undefined
}

export class ChangeOrigins {
  readonly #known = new Map<string, ChangeOrigin>()

  note(container: number, change: TracedChange, origin: ChangeOrigin): void {
    this.#known.set(nameOf(container, change), origin)
    // A Map keeps insertion order, so the first entry is the oldest.
    if (this.#known.size > mongoOriginsMax) this.#known.delete(this.#known.keys().next().value!)
  }

  find(container: number, change: TracedChange): ChangeOrigin | undefined {
    return this.#known.get(nameOf(container, change))
  }

  forget(container: number, change: TracedChange): void {
    this.#known.delete(nameOf(container, change))
  }
}

/** The changes of one write, until it is known whether they are stored. */
export class ChangeTraces {
  readonly #origins: ChangeOrigins
  readonly #noted: (readonly [container: number, change: TracedChange])[] = []

  constructor(origins: ChangeOrigins) {
    this.#origins = origins
  }

  note(container: number, change: TracedChange, origin: ChangeOrigin): void {
    this.#origins.note(container, change, origin)
    this.#noted.push([container, change])
  }

  /** The write was refused. */
  forget(): void {
    for (const [container, change] of this.#noted) this.#origins.forget(container, change)
  }
}

function nameOf(container: number, { key, ts, previous }: TracedChange): string {
  return previous === undefined ? `${container} ${ts} ${key.id} ${key.pk}` : `${container} ${previous.version}`
}
