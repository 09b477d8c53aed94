/** The backlog of each second. It is counted only while a page is open, so there are gaps. */

const secondsMax = 3600
const containersMax = 64

export interface SeenBacklog {
  readonly dead: number
  readonly lagSeconds: number
}

export class Backlogs {
  /** By container (undefined: all), then by second, oldest first. */
  readonly #seen = new Map<number | undefined, Map<number, SeenBacklog>>()

  note(container: number | undefined, second: number, backlog: SeenBacklog): void {
    let seconds = this.#seen.get(container)
    if (seconds === undefined) {
      seconds = new Map()
      this.#seen.set(container, seconds)
      if (this.#seen.size > containersMax + 1) {
        for (const each of this.#seen.keys()) {
          if (each === undefined || each === container) continue
          this.#seen.delete(each)
          break
        }
      }
    }
    seconds.set(second, backlog)
    for (const oldest of seconds.keys()) {
      if (seconds.size <= secondsMax && oldest > second - secondsMax) break
      seconds.delete(oldest)
    }
  }

  at(container: number | undefined, second: number): SeenBacklog | undefined {
    return this.#seen.get(container)?.get(second)
  }
}
