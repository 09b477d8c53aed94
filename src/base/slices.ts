/**
 * Cuts long work into slices. Each turn of the event loop runs one slice, also if many works wait for
 * theirs. So a request waits for one slice, not for one of each work.
 */

import { machine } from './clock.ts'
import type { Steps } from './steps.ts'

const waiting: (() => void)[] = []

/** Ends a slice. Resolves when the next one may run; other works had their slices by then. */
export function nextSlice(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) machine.setImmediate(giveOn)
  })
}

function giveOn(): void {
  waiting.shift()!()
  if (waiting.length > 0) machine.setImmediate(giveOn)
}

const sliceMs = 2

/** Short works of one kind may all begin in one turn. Together they get one slice of it. */
export class SharedSlice {
  /** When the slice of this turn began. */
  #startMs: number | undefined

  /** Whether this turn has had its slice. Then a work waits for the next one before it goes on. */
  get isOver(): boolean {
    this.#startMs ??= this.#begin()
    return machine.monotonicMs() - this.#startMs >= sliceMs
  }

  async next(): Promise<void> {
    await nextSlice()
    this.#startMs = this.#begin()
  }

  #begin(): number {
    machine.setImmediate(() => {
      this.#startMs = undefined
    })
    return machine.monotonicMs()
  }
}

/** Does long work in slices: as many steps in each as take about two milliseconds. */
export async function inSlices<T>(steps: Steps<T>): Promise<T> {
  for (;;) {
    await nextSlice()
    const startMs = machine.monotonicMs()
    do {
      const step = steps.next()
      if (step.done === true) return step.value
    } while (machine.monotonicMs() - startMs < sliceMs)
  }
}
