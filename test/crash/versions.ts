/** The versions that the server used: each once, and after a restart only newer ones. */

import { check } from './violation.ts'

export class Versions {
  readonly #given = new Set<number>()
  #floor = 0
  #newest = 0

  /** The newest acknowledged version. */
  get newest(): number {
    return this.#newest
  }

  give(version: number): void {
    check(Number.isSafeInteger(version), `${version} is not a version`)
    check(
      version > this.#floor,
      `version ${version} was given after a restart; ${this.#floor} had been given before it`,
    )
    check(!this.#given.has(version), `version ${version} was given twice`)
    this.#given.add(version)
    this.#newest = Math.max(this.#newest, version)
  }

  /** From now on versions must be greater than all known ones. */
  raiseFloor(): void {
    this.#floor = this.#newest
    this.#given.clear()
  }
}
