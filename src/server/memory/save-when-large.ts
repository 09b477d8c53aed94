/**
 * Keeps the heaps of V8 small while the server is large.
 *
 * The account hands out half of the memory budget (`base/memory-account.ts`). The other half is for objects,
 * copies and garbage, and V8 knows no such limit: it lets all heaps grow as far as the machine allows. So
 * when the server has grown by three quarters of its budget, V8 is to collect sooner, until the server is
 * smaller. A lower limit would cost time, because small heaps are collected often.
 */

import { machine } from '../../base/clock.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { beginCollection } from './collect-in-steps.ts'
import { smallHeaps } from './heap-sizes.ts'
import { ownSize } from './own-size.ts'

/** A server can grow by some 100 MB between two looks. A look takes less than 0.2 ms. */
const lookEveryMs = 200

/** Of what the account hands out. */
const largePart = 1.5
/** Saving ends when the server has grown by less. Otherwise it would begin and end all the time. */
const smallerPart = 1.35

/** A server that grows again and again is not to collect all its garbage each time. */
const collectEveryMsMin = 5000

export interface SaveOptions {
  readonly memory: MemoryAccount
  /** The size of the process, how heaps get smaller, and how that begins. Tests give their own. */
  readonly size?: () => number
  readonly save?: () => Disposable
  readonly collect?: () => void
}

export function saveWhenLarge({
  memory,
  size = ownSize,
  save = smallHeaps,
  collect = beginCollection,
}: SaveOptions): Disposable {
  let leastBytes = Number.POSITIVE_INFINITY
  let saving: Disposable | undefined
  let isCollectionOwed = false
  let collectedMs = Number.NEGATIVE_INFINITY

  function look(): void {
    const bytes = size()
    leastBytes = Math.min(leastBytes, bytes)
    const grownBytes = bytes - leastBytes
    if (saving === undefined && grownBytes > memory.bytesMax * largePart) begin()
    if (grownBytes < memory.bytesMax * smallerPart) end()
    if (isCollectionOwed && machine.monotonicMs() - collectedMs >= collectEveryMsMin) collectNow()
  }

  function begin(): void {
    saving = save()
    // The heap keeps its limit until the next collection.
    isCollectionOwed = true
  }

  function collectNow(): void {
    isCollectionOwed = false
    collectedMs = machine.monotonicMs()
    collect()
  }

  function end(): void {
    saving?.[Symbol.dispose]()
    saving = undefined
    isCollectionOwed = false
  }

  let timer = machine.setTimeout(lookAgain, lookEveryMs).unref()
  function lookAgain(): void {
    timer = machine.setTimeout(lookAgain, lookEveryMs).unref()
    look()
  }
  return {
    [Symbol.dispose]() {
      machine.clearTimeout(timer)
      end()
    },
  }
}
