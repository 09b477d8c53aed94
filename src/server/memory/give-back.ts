/**
 * Gives memory back to the system when the server has started, and when it was busy with large things and is
 * quiet again.
 *
 * V8 collects garbage when it needs room, and not because time passes, and malloc keeps what is freed. A
 * server that has nothing to do keeps what it had at its peak, also what loading its code has left. So once
 * it has grown and holds little, it collects its garbage in steps, and then has malloc give back what is free
 * (docs/decisions/0019). It waits for a quiet moment and does not repeat what brought nothing.
 */

import { readFileSync } from 'node:fs'
import { machine } from '../../base/clock.ts'
import { KiB, MiB } from '../../base/limits.ts'
import type { Logger } from '../../base/log.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { collectInSteps } from './collect-in-steps.ts'
import { trimMalloc } from './trim-malloc.ts'

const lookEveryMs = 3000

/** When it looks for the first time: clients that wait for the server have asked for something by then. */
const firstLookMs = 500

/** With more requests between two looks, a server is busy. Probes of its health do not count. */
const quietRequestsMax = 100

/** What is not worth it: growth below both, in bytes and as a part of the size at rest. */
const grownBytesMin = 8 * MiB
const grownPartMin = 0.15

/**
 * A busy server collects only what is far beyond that, and only after so many looks. There V8 collects by
 * itself, and it needs the young generation (48 MB) that this takes away.
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
  /** The size of the process, and how it gets smaller. Tests give their own. */
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
   * The smallest size so far: when it was made smaller last, threads may have held much that they have given
   * back since. What the start has left is collected in any case: 20 MB (docs/decisions/0021).
   */
  let restBytes = 0
  /** When it was made smaller last. */
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
      log.debug({ error }, 'this Node cannot give memory back; it keeps that of its peak')
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

/** Linux tells what is no file. Elsewhere malloc's part is not known. */
function ownSize(): number {
  if (process.platform === 'linux') {
    const anonymous = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))
    if (anonymous !== null) return Number(anonymous[1]) * KiB
  }
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}
