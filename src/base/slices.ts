/**
 * Long work is done in slices. One slice runs in a turn of the event loop, however many works wait for
 * theirs: a request waits for one slice, and not for one of each work.
 */

import { machine } from './clock.ts'

const waiting: (() => void)[] = []

/** Ends a slice. Resolves when it is the turn of the next one; others had theirs by then. */
export function nextSlice(): Promise<void> {
  return new Promise(resolve => {
    if (waiting.push(resolve) === 1) machine.setImmediate(giveOn)
  })
}

function giveOn(): void {
  waiting.shift()!()
  if (waiting.length > 0) machine.setImmediate(giveOn)
}
