/**
 * Keeps the heaps of V8 small while the server is large.
 *
 * The account hands out half of the memory budget (`base/memory-account.ts`). The other half is for objects,
 * copies and garbage, and V8 knows no such limit: it lets all heaps grow as far as the machine allows. So
 * when the server has grown by half of its budget, V8 is to collect sooner, until the server is smaller.
 */

import { machine } from '../../base/clock.ts'
import type { MemoryAccount } from '../../base/memory-account.ts'
import { ownSize } from './own-size.ts'
import { smallHeaps } from './small-heaps.ts'

/** A server can grow by some 100 MB between two looks. A look takes less than 0.2 ms. */
const lookEveryMs = 200

export interface SaveOptions {
  readonly memory: MemoryAccount
  /** The size of the process, and how heaps get smaller. Tests give their own. */
  readonly size?: () => number
  readonly save?: () => Disposable
}

export function saveWhenLarge({ memory, size = ownSize, save = smallHeaps }: SaveOptions): Disposable {
  let leastBytes = Number.POSITIVE_INFINITY
  let saving: Disposable | undefined

  function look(): void {
    const bytes = size()
    leastBytes = Math.min(leastBytes, bytes)
    if (bytes > leastBytes + memory.bytesMax) saving ??= save()
    else end()
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
