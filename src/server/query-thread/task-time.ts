/**
 * Reads how long a thread has run on a core. On a busy machine that is less than the time that has passed.
 */

import { readFileSync, readlinkSync } from 'node:fs'

/** Linux counts in hundredths of a second, on every common machine. */
const msPerTick = 10

/** The number that Linux has given to the thread that calls. Undefined elsewhere. */
export function ownTask(): number | undefined {
  try {
    return Number(readlinkSync('/proc/thread-self').split('/').at(-1))
  } catch {
    return undefined
  }
}

/** Undefined on systems that do not tell it, and for a thread that has ended. */
export function ranMs(task: number | undefined): number | undefined {
  if (task === undefined) return undefined
  try {
    const stat = readFileSync(`/proc/self/task/${task}/stat`, 'latin1')
    // The name of a thread stands in brackets and may have blanks.
    const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ')
    return (Number(fields[11]) + Number(fields[12])) * msPerTick
  } catch {
    return undefined
  }
}
