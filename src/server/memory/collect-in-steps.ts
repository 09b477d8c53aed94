/**
 * Has V8 collect all garbage of this thread in steps, and give the pages back to the system.
 *
 * V8 begins to mark, between other work and in other threads, when much memory has been made outside of its
 * heap since the last collection. A buffer that nobody writes to counts as such, and takes nothing. What
 * stops the thread is only the end: objects are moved and pages unmapped. A collection that the inspector or
 * `gc()` asks for does everything in one go (docs/decisions/0019).
 */

import { constants, type NodeGCPerformanceDetail, type PerformanceEntry, PerformanceObserver } from 'node:perf_hooks'
import { setFlagsFromString } from 'node:v8'
import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'

/** V8 begins at 64 MB. Much more at once, and it would collect in one go. */
const pressureBytes = 40 * MiB
const pressEveryMs = 50

/** A collection of a large heap takes a second or two. */
const pressesMax = 60

/** For a program with one heap that is not in a hurry: V8 has no other way to ask for fewer pages. */
const small = '--optimize-for-size'
const ordinary = '--no-optimize-for-size'

export async function collectInSteps(): Promise<void> {
  let isDone = false
  const observer = new PerformanceObserver(list => {
    for (const entry of list.getEntries() as (PerformanceEntry & { detail?: NodeGCPerformanceDetail })[]) {
      if (entry.detail?.kind === constants.NODE_PERFORMANCE_GC_MAJOR) isDone = true
    }
  })
  observer.observe({ entryTypes: ['gc'] })
  setFlagsFromString(small)
  try {
    for (let n = 0; n < pressesMax && !isDone; n++) {
      // The first ones begin the collection. Later ones would only hurry it.
      if (n < 3) new ArrayBuffer(pressureBytes, { maxByteLength: pressureBytes })
      await new Promise<void>(resolve => machine.setTimeout(resolve, pressEveryMs))
    }
  } finally {
    setFlagsFromString(ordinary)
    observer.disconnect()
  }
}
