/**
 * Makes V8 collect all garbage of this thread in steps, and give free pages back to the system.
 *
 * `gc()` and the inspector collect in one pause (docs/decisions/0019). V8 collects in steps by itself,
 * between other work and in other threads, when much memory outside of its heap was allocated since the last
 * collection. So this file allocates large buffers. They count, but take no memory, because nothing is
 * written to them. Only the end of the collection stops the thread: objects are moved and pages unmapped.
 */

import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import { smallHeaps } from './heap-sizes.ts'

/** V8 starts at 64 MB, so at the second buffer. With much more at once, it would collect in one pause. */
const pressureBytes = 40 * MiB
const waitMs = 50

/** This ends the wait after 3 s. A collection of a large heap takes a second or two. */
const waitsMax = 60

/** The collection goes on by itself. */
export function beginCollection(): void {
  press()
  press()
}

export async function collectInSteps(): Promise<void> {
  let isDone = false
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail?: NodeGCPerformanceDetail })[]) {
      if (entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) isDone = true
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  using _ = smallHeaps()
  try {
    for (let n = 0; n < waitsMax && !isDone; n++) {
      // The first buffers start the collection. More would only make V8 hurry.
      if (n < 3) press()
      await new Promise<void>(resolve => machine.setTimeout(resolve, waitMs))
    }
  } finally {
    observer.disconnect()
  }
}

function press(): void {
  new ArrayBuffer(pressureBytes, { maxByteLength: pressureBytes })
}
