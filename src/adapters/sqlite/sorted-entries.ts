/**
 * The entries of one index for a range of items, in the order of the index.
 *
 * Another thread reads, encodes and sorts them; the writer inserts them. Sorted entries share pages,
 * scattered ones touch a page each: inserting sorted entries was measured at a tenth of the cost. They are
 * packed into a few buffers, which are passed between threads without copying.
 */

import type { IndexKeys } from '../../document/index-keys.ts'
import type { IndexFindings } from '../index-findings.ts'

export interface SortedEntries {
  /** All keys in a row; the nth ends at `ends[n]`. */
  readonly keys: Uint8Array<ArrayBuffer>
  readonly ends: Uint32Array<ArrayBuffer>
  /** Doubles, which hold every sequence number exactly. */
  readonly sequences: Float64Array<ArrayBuffer>
  /** The last item that was read; undefined: there are no more. */
  readonly reached: number | undefined
  readonly findings: IndexFindings
}

/** Sort the entries of the next items behind `builtTo`. */
export interface SortTask {
  readonly container: number
  readonly index: number
  readonly builtTo: number
}

/** undefined: there is no such index any more. */
export type SortEntries = (task: SortTask) => Promise<SortedEntries | undefined>

export class EntrySorter {
  readonly #entries: { readonly key: Uint8Array; readonly sequence: number }[] = []
  #bytes = 0

  /** Of all keys so far; an item can have many. */
  get bytes(): number {
    return this.#bytes
  }

  add(sequence: number, { keys }: IndexKeys): void {
    for (const key of keys) {
      this.#entries.push({ key, sequence })
      this.#bytes += key.length
    }
  }

  sorted(reached: number | undefined, findings: IndexFindings): SortedEntries {
    const entries = this.#entries.sort((a, b) => Buffer.compare(a.key, b.key) || a.sequence - b.sequence)
    const keys = new Uint8Array(this.#bytes)
    const ends = new Uint32Array(entries.length)
    const sequences = new Float64Array(entries.length)
    let end = 0
    for (const [at, { key, sequence }] of entries.entries()) {
      keys.set(key, end)
      end += key.length
      ends[at] = end
      sequences[at] = sequence
    }
    return { keys, ends, sequences, reached, findings }
  }
}

/** The buffers to pass to the other thread without copying. */
export function buffersOf({ keys, ends, sequences }: SortedEntries): ArrayBuffer[] {
  return [keys.buffer, ends.buffer, sequences.buffer]
}
