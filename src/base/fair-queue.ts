/**
 * A queue in which the work of one client does not wait behind all the work of another.
 *
 * Each entry has a path of names, such as container, partition key, connection. The names of one level take
 * turns; below each name, the names of the next level do. Entries with the same path keep their order.
 */

/** An entry and where it waits. */
export interface Place<T> {
  readonly entry: T
  readonly path: readonly unknown[]
}

class Level<T> {
  /** In the order in which they have their turns. */
  readonly names = new Map<unknown, Level<T>>()
  readonly entries: T[] = []
  count = 0
}

export class FairQueue<T> {
  readonly #top = new Level<T>()

  get length(): number {
    return this.#top.count
  }

  /** How many entries wait below a first name. */
  countBelow(name: unknown): number {
    return this.#top.names.get(name)?.count ?? 0
  }

  add({ entry, path }: Place<T>): void {
    let level = this.#top
    level.count += 1
    for (const name of path) {
      let next = level.names.get(name)
      if (next === undefined) {
        next = new Level()
        level.names.set(name, next)
      }
      level = next
      level.count += 1
    }
    level.entries.push(entry)
  }

  /** The entry whose turn it is. */
  take(): T | undefined {
    let level = this.#top
    if (level.count === 0) return undefined
    level.count -= 1
    for (;;) {
      const [turn] = level.names
      if (turn === undefined) return level.entries.shift()
      const [name, next] = turn
      // Goes to the end of the line, if it still has entries.
      level.names.delete(name)
      if (next.count > 1) level.names.set(name, next)
      next.count -= 1
      level = next
    }
  }

  /** Returns false if the entry is not there. */
  remove({ entry, path }: Place<T>): boolean {
    const levels = [this.#top]
    for (const name of path) {
      const next = levels.at(-1)!.names.get(name)
      if (next === undefined) return false
      levels.push(next)
    }
    const { entries } = levels.at(-1)!
    const at = entries.indexOf(entry)
    if (at === -1) return false
    entries.splice(at, 1)
    for (const [depth, level] of levels.entries()) {
      level.count -= 1
      if (level.count === 0 && depth > 0) levels[depth - 1]!.names.delete(path[depth - 1])
    }
    return true
  }
}
