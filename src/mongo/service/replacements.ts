/**
 * Which versions were put in the place of others as a whole: a log knows that something changed, not how it
 * was asked for.
 */

/** Replacements that are told from updates in change streams; of older ones it is no longer known. */
const mongoReplacementsMax = 10_000

export class Replacements {
  readonly #known = new Set<string>()

  note(container: number, version: number): void {
    this.#known.add(`${container} ${version}`)
    // A Set keeps insertion order: the oldest goes.
    if (this.#known.size > mongoReplacementsMax) this.#known.delete(this.#known.values().next().value!)
  }

  has(container: number, version: number): boolean {
    return this.#known.has(`${container} ${version}`)
  }
}
