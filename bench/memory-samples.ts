/**
 * Samples the memory of processes while a command runs, and tells whether it grew. What counts is anonymous:
 * the mapped part of a data file grows with the file, and the system drops it as it likes.
 */

import { machine } from '../src/base/clock.ts'
import { memoryOf } from './processes.ts'
import { type Finding, median } from './report.ts'

const SAMPLE_MS = 250
/** With fewer, the start of the process would be half of the run. */
const SAMPLES_MIN = 16
const GROWTH_MAX = 1.1

export class MemorySamples implements Disposable {
  readonly #samples: number[] = []
  readonly #timer: NodeJS.Timeout

  constructor(pid: number) {
    this.#timer = machine.setInterval(() => {
      const { anonymous } = memoryOf(pid)
      if (anonymous > 0) this.#samples.push(anonymous)
    }, SAMPLE_MS)
  }

  /** Peak of the last half / peak of the first half; undefined: the run was too short. */
  get growth(): number | undefined {
    const samples = this.#samples
    if (samples.length < SAMPLES_MIN) return undefined
    const middle = samples.length >> 1
    return Math.max(...samples.slice(middle)) / Math.max(...samples.slice(0, middle))
  }

  get peak(): number {
    return Math.max(0, ...this.#samples)
  }

  [Symbol.dispose](): void {
    machine.clearInterval(this.#timer)
  }
}

/** `growths`: one of each round. */
export function flatMemory(who: string, growths: readonly (number | undefined)[]): Finding {
  const known = growths.filter(growth => growth !== undefined)
  return {
    text: `memory of the ${who}: peak of the last half / peak of the first half`,
    value: known.length < growths.length || known.length === 0 ? undefined : median(known),
    ...(known.length > 0 && { range: [Math.min(...known), Math.max(...known)] as const }),
    bound: { atMost: GROWTH_MAX },
  }
}
