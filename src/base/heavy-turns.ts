/**
 * Runs heavy work in turns: reading a large body, storing large items. Each piece is bounded and cannot be
 * cut. One piece runs at a time. Between two pieces, small requests that have arrived are read, committed
 * and answered, so many heavy pieces delay each small request by about one piece.
 *
 * Connections take turns too: one with much heavy work does not delay the pieces of another. A connection is
 * answered before more is read from it, so the number of connections bounds the number of waiting pieces.
 */

import { AsyncLocalStorage } from 'node:async_hooks'
import { machine } from './clock.ts'
import { FairQueue } from './fair-queue.ts'
import { KiB } from './limits.ts'
import type { Steps } from './steps.ts'

/** Bodies and writes of this size and more are heavy. Reading or storing less takes up to a millisecond. */
export const heavyBytesMin = 64 * KiB

/** To read and to answer as much takes a third of a millisecond. */
export const heavyAnswerBytesMin = 128 * KiB

/**
 * Turns of the event loop between two pieces: in the first, small requests are read and their writes are
 * committed; in the second, their answers leave. The turn of the piece itself may count as one.
 */
const turnsBetween = 3

/** By connection: the share of the memory identifies it. */
const waiting = new FairQueue<() => void>()
let isTaken = false

/** Whether a piece waits. Then small writes should be committed at once, not wait for more of them. */
export function isHeavyWorkWaiting(): boolean {
  return waiting.length > 0
}

/**
 * Does the work now, or when its turn has come, in the asynchronous context of the caller. `by` identifies
 * the connection; the store gives none.
 */
export function inHeavyTurn(work: () => void, by?: object): void {
  if (isTaken) {
    const inContext = AsyncLocalStorage.snapshot()
    waiting.add({ entry: () => inContext(work), path: [by] })
    return
  }
  isTaken = true
  giveOnAfter(turnsBetween)
  work()
}

function giveOnAfter(turns: number): void {
  machine.setImmediate(() => (turns > 1 ? giveOnAfter(turns - 1) : giveOn()))
}

function giveOn(): void {
  const next = waiting.take()
  isTaken = next !== undefined
  if (next === undefined) return
  giveOnAfter(turnsBetween)
  next()
}

/** The same for work that has a result. */
export function heavyTurnFor<T>(work: () => T | Promise<T>, by: object): Promise<T> {
  return new Promise((resolve, reject) => {
    inHeavyTurn(() => {
      try {
        resolve(work())
      } catch (error) {
        reject(error)
      }
    }, by)
  })
}

/** How long steps go on in one turn. */
const heavyStepsMsMax = 2

/** Long work in steps: as many in each turn as take a few milliseconds. */
export async function stepsInHeavyTurns<T>(steps: Steps<T>, by: object): Promise<T> {
  for (;;) {
    const end = await heavyTurnFor(() => {
      const startMs = machine.monotonicMs()
      for (;;) {
        const step = steps.next()
        if (step.done === true) return step
        if (machine.monotonicMs() - startMs > heavyStepsMsMax) return undefined
      }
    }, by)
    if (end !== undefined) return end.value
  }
}
