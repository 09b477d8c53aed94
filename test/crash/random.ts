/** Seeded randomness: the same numbers give the same choices on every machine. */

export class Random {
  #state: number

  /** Every part of the seed counts, so that the actors of one cycle choose independently. */
  constructor(...seed: readonly number[]) {
    this.#state = seed.reduce((state, part) => Math.imul(state ^ part, 0x9e3779b1) + 0x7f4a7c15, 0x2545f491) >>> 0
    for (let warmUp = 0; warmUp < 4; warmUp++) this.fraction()
  }

  /** Mulberry32. */
  fraction(): number {
    this.#state = (this.#state + 0x6d2b79f5) >>> 0
    let bits = Math.imul(this.#state ^ (this.#state >>> 15), this.#state | 1)
    bits ^= bits + Math.imul(bits ^ (bits >>> 7), bits | 61)
    return ((bits ^ (bits >>> 14)) >>> 0) / 2 ** 32
  }

  /** A whole number from `min` to `max`, both included. */
  between(min: number, max: number): number {
    return min + Math.floor(this.fraction() * (max - min + 1))
  }

  chance(probability: number): boolean {
    return this.fraction() < probability
  }

  pick<T>(choices: readonly T[]): T {
    return choices[Math.floor(this.fraction() * choices.length)]!
  }

  /** One of the named choices, each as likely as its weight says. */
  weighted<K extends string>(weights: Readonly<Record<K, number>>): K {
    const entries = Object.entries(weights) as [K, number][]
    let rest = this.fraction() * entries.reduce((sum, [, weight]) => sum + weight, 0)
    for (const [name, weight] of entries) {
      rest -= weight
      if (rest < 0) return name
    }
    return entries[0]![0]
  }
}
