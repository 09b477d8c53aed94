/**
 * Gives memory back to the system when the server was busy with large things and is quiet again.
 *
 * V8 collects garbage when it needs room, and not because time passes. A server that has nothing to do keeps
 * what it had at its peak. So once it has grown and holds little, it is told to collect everything, by the
 * command of the inspector that Chrome's tools use for the same (docs/decisions/0019). That takes as long as
 * the live objects are many, so it waits for a quiet moment and does not repeat what brought nothing.
 */

import type { Session } from 'node:inspector'
import { machine } from '../base/clock.ts'
import { MiB } from '../base/limits.ts'
import type { Logger } from '../base/log.ts'
import type { MemoryAccount } from '../base/memory-account.ts'

const lookEveryMs = 3000

/** A server that is never without requests collects after so many looks. */
const busyLooksMax = 5

/** What is not worth it: growth below both, in bytes and as a part of the size at rest. */
const grownBytesMin = 8 * MiB
const grownPartMin = 0.15

/** The part of the account that may be held when the server counts as quiet. */
const quietPart = 0.05

export interface GiveBackOptions {
  readonly memory: MemoryAccount
  /** A number that grows with every request. */
  readonly activity: () => number
  readonly log: Logger
  /** What V8 holds, and what it does to collect. Tests give their own. */
  readonly heapBytes?: () => number
  readonly collect?: () => Promise<void>
}

export function giveBackWhenQuiet({
  memory,
  activity,
  log,
  heapBytes = ownHeapBytes,
  collect = collectGarbage,
}: GiveBackOptions): Disposable {
  let restBytes = heapBytes()
  let seen = activity()
  let busyLooks = 0
  let isCollecting = false

  async function look(): Promise<void> {
    const before = heapBytes()
    const isGrown = before > restBytes + grownBytesMin && before > restBytes * (1 + grownPartMin)
    const isBusy = activity() !== seen
    seen = activity()
    if (!isGrown || isCollecting || memory.heldBytes > memory.bytesMax * quietPart) {
      busyLooks = 0
      return
    }
    if (isBusy && ++busyLooks < busyLooksMax) return
    busyLooks = 0
    isCollecting = true
    const startMs = machine.monotonicMs()
    try {
      await collect()
      const tookMs = Math.round(machine.monotonicMs() - startMs)
      restBytes = heapBytes()
      log.debug({ tookMs, beforeMb: toMb(before), afterMb: toMb(restBytes) }, 'gave memory back')
    } catch (error) {
      restBytes = Number.POSITIVE_INFINITY
      log.debug({ error }, 'this Node cannot be told to collect garbage; it keeps the memory of its peak')
    } finally {
      isCollecting = false
    }
  }

  const timer = machine.setInterval(() => void look(), lookEveryMs).unref()
  return { [Symbol.dispose]: () => machine.clearInterval(timer) }
}

function toMb(bytes: number): number {
  return Math.round(bytes / MiB)
}

function ownHeapBytes(): number {
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}

async function collectGarbage(): Promise<void> {
  const inspector = await import('node:inspector')
  const session: Session = new inspector.Session()
  session.connect()
  try {
    await new Promise<void>((resolve, reject) => {
      session.post('HeapProfiler.collectGarbage', error => (error === null ? resolve() : reject(error)))
    })
  } finally {
    session.disconnect()
  }
}
