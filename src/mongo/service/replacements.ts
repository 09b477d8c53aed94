/**
 * Remembers which versions replaced a whole document. The change log does not record how a change was asked
 * for.
 */

/** How many replacements are remembered. An older one appears as an update in change streams. */
const mongoReplacementsMax = 10_000

export class Replacements {
  readonly #known = new Set<string>()

  note(container: number, version: number): void {
    this.#known.add(`${container} ${version}`)
    // A Set keeps insertion order, so the first entry is the oldest.
    if (this.#known.size > mongoReplacementsMax) this.#known.delete(this.#known.values().next().value!)
  }

  has(container: number, version: number): boolean {
    return this.#known.has(`${container} ${version}`)
  }
}
