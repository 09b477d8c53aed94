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

/** Short works of one kind may all begin in one turn. Together they get one slice in each turn. */
export class SharedSlice {
  readonly #waiting: (() => void)[] = []
  /** When the slice of this turn began. */
  #startMs: number | undefined

  /** Whether the slice of this turn is used up. Then a work waits for another one before it goes on. */
  get isOver(): boolean {
    this.#startMs ??= this.#begin()
    return machine.monotonicMs() - this.#startMs >= sliceMs
  }

  next(): Promise<void> {
    return new Promise(resolve => {
      if (this.#waiting.push(resolve) === 1) this.#giveOnLater()
    })
  }

  async #giveOnLater(): Promise<void> {
    await nextSlice()
    this.#startMs = this.#begin()
    this.#giveOn()
  }

  /** Work goes on as far as it can, before the next one is let go. */
  #giveOn(): void {
    this.#waiting.shift()!()
    if (this.#waiting.length === 0) return
    const goOn = () => (this.isOver ? this.#giveOnLater() : this.#giveOn())
    // What a microtask leaves for the next tick runs when there are no more microtasks.
    queueMicrotask(() => process.nextTick(goOn))
  }

  #begin(): number {
    const startMs = machine.monotonicMs()
    machine.setImmediate(() => {
      if (this.#startMs === startMs) this.#startMs = undefined
    })
    return startMs
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
