/**
 * Gives memory back to the system after the start of the server, and when a busy server has become quiet.
 *
 * V8 collects garbage when it needs room, not when time passes, and malloc keeps freed memory. So an idle
 * server would keep the memory of its peak, and of loading its code. When the process has grown and holds
 * little for requests, this file collects garbage in steps, and then makes malloc give back its free memory
 * (docs/decisions/0019). It waits for a quiet moment, and does not repeat an attempt that changed nothing.
 */

import { machine } from '../../base/clock.ts'
import { MiB } from '../../base/limits.ts'
import type { Logger } from '../../base/log.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { collectInSteps } from './collect-in-steps.ts'
import { ownSize } from './own-size.ts'
import { trimMalloc } from './trim-malloc.ts'

const lookEveryMs = 3000

/** The first look comes after the first requests of clients that waited for the server. */
const firstLookMs = 500

/** With more requests between two looks, a server is busy. Probes of its health do not count. */
const quietRequestsMax = 100

/** Memory is given back when the process has grown by both: in bytes, and as a part of its size at rest. */
const grownBytesMin = 8 * MiB
const grownPartMin = 0.15

/**
 * In a busy server V8 collects by itself, and it needs the young generation that this takes away. So a busy
 * server must have grown by more, and at so many looks in a row.
 */
const busyLooksMax = 5
const busyBytesMin = 96 * MiB
const busyPartMin = 1

/** The part of the account that may be held when the server counts as quiet. */
const quietPart = 0.05

export interface GiveBackOptions {
  readonly memory: MemoryAccount
  /** A number that grows with every request. */
  readonly activity: () => number
  readonly log: Logger
  /** The size of the process, and the work that makes it smaller. Tests give their own. */
  readonly size?: () => number
  readonly shrink?: () => Promise<void>
}

export function giveBackWhenQuiet({
  memory,
  activity,
  log,
  size = ownSize,
  shrink = shrinkInSteps,
}: GiveBackOptions): Disposable {
  /**
   * The smallest size after any attempt. The size after the last attempt would not do: threads may have held
   * much memory then. It begins at 0, so that the garbage of the start is always collected: 20 MB
   * (docs/decisions/0021).
   */
  let restBytes = 0
  /** The size after the last attempt. */
  let shrunkBytes = 0
  let seen = activity()
  let busyLooks = 0
  let isShrinking = false

  async function look(): Promise<void> {
    const before = size()
    const isBusy = activity() > seen + quietRequestsMax
    seen = activity()
    const [bytesMin, partMin] = isBusy ? [busyBytesMin, busyPartMin] : [grownBytesMin, grownPartMin]
    const isGrown = before > restBytes + bytesMin && before > restBytes * (1 + partMin)
    const isOther = Math.abs(before - shrunkBytes) > bytesMin
    if (!isGrown || !isOther || isShrinking || memory.heldBytes > memory.bytesMax * quietPart) {
      busyLooks = 0
      return
    }
    if (isBusy && ++busyLooks < busyLooksMax) return
    busyLooks = 0
    isShrinking = true
    const startMs = machine.monotonicMs()
    try {
      await shrink()
      const tookMs = Math.round(machine.monotonicMs() - startMs)
      shrunkBytes = size()
      restBytes = restBytes === 0 ? shrunkBytes : Math.min(restBytes, shrunkBytes)
      log.debug({ tookMs, beforeMb: toMb(before), afterMb: toMb(shrunkBytes) }, 'gave memory back')
    } catch (error) {
      restBytes = Number.POSITIVE_INFINITY
      log.debug({ error }, 'this Node cannot give memory back; it keeps the memory of its peak')
    } finally {
      isShrinking = false
    }
  }

  let timer = machine.setTimeout(lookAgain, firstLookMs).unref()
  function lookAgain(): void {
    timer = machine.setTimeout(lookAgain, lookEveryMs).unref()
    void look()
  }
  return { [Symbol.dispose]: () => machine.clearTimeout(timer) }
}

async function shrinkInSteps(): Promise<void> {
  await collectInSteps()
  await trimMalloc()
}

function toMb(bytes: number): number {
  return Math.round(bytes / MiB)
}
