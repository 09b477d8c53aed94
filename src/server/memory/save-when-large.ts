/**
 * Keeps the heaps of V8 small while the server is large.
 *
 * The account hands out half of the memory budget (`base/memory-account.ts`). The other half is for objects,
 * copies and garbage, and V8 knows no such limit: it lets all heaps grow as far as the machine allows. So
 * when the server has grown by three quarters of its budget, V8 is to collect sooner, until the server is
 * smaller. Sooner would cost time: small heaps are collected often.
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
  let collectedMs = Number.NEGATIVE_INFINITY

  function look(): void {
    const bytes = size()
    leastBytes = Math.min(leastBytes, bytes)
    if (bytes <= leastBytes + memory.bytesMax * largePart) end()
    else if (saving === undefined) begin()
  }

  function begin(): void {
    saving = save()
    // Heaps keep their limits until the next collection, so one begins now.
    const nowMs = machine.monotonicMs()
    if (nowMs - collectedMs < collectEveryMsMin) return
    collectedMs = nowMs
    collect()
  }

  function end(): void {
    saving?.[Symbol.dispose]()
    saving = undefined
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
