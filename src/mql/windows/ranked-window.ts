/**
 * Finds the k-th of the values in a window that moves. All values of the partition are ranked once; a tree of
 * counts over the ranks tells which are in the window. A step costs the logarithm of the partition's size,
 * however wide the window is.
 */
export class RankedWindow {
  /** The documents that have a value, in the order of their values. */
  readonly #ranked: readonly number[]
  readonly #rankOf: Int32Array
  /** A Fenwick tree: entry `i` counts the values in the window of the `i & -i` ranks up to `i`. */
  readonly #counts: Int32Array
  readonly #top: number
  count = 0

  /** Equal values keep the order of their documents. */
  constructor(size: number, ranked: readonly number[]) {
    this.#ranked = ranked
    this.#rankOf = new Int32Array(size).fill(-1)
    for (const [rank, index] of ranked.entries()) this.#rankOf[index] = rank
    this.#counts = new Int32Array(ranked.length + 1)
    this.#top = ranked.length === 0 ? 0 : 2 ** Math.floor(Math.log2(ranked.length))
  }

  /** Approximate memory use. */
  get bytes(): number {
    return 4 * (this.#rankOf.length + this.#counts.length) + 8 * this.#ranked.length
  }

  enter(index: number): void {
    this.#change(index, 1)
  }

  leave(index: number): void {
    this.#change(index, -1)
  }

  #change(index: number, by: 1 | -1): void {
    const rank = this.#rankOf[index]!
    if (rank === -1) return
    this.count += by
    for (let at = rank + 1; at < this.#counts.length; at += at & -at) this.#counts[at]! += by
  }

  /** The document whose value comes in this place, counted from zero. */
  at(place: number): number {
    let left = place + 1
    let at = 0
    for (let step = this.#top; step > 0; step = Math.floor(step / 2)) {
      const next = at + step
      if (next >= this.#counts.length || this.#counts[next]! >= left) continue
      left -= this.#counts[next]!
      at = next
    }
    return this.#ranked[at]!
  }
}
