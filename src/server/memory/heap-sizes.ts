/**
 * How V8 sizes the heaps of all threads: with room for garbage as a rule, and small as long as somebody
 * wants that.
 *
 * V8 collects all garbage of a heap when it reaches a limit, and buffers count although they are outside of
 * it. The limit is near if little is in use. So a server whose heap had 22 MB stopped 15 times a second, for
 * 10 ms each, because answers of megabytes were on their way. With room for garbage it stops once a second.
 *
 * In Node 24 the young generation of the main thread grows to 128 MB. While heaps are to be small it shrinks
 * to 4 to 16 MB, and garbage is collected sooner. V8 has no other way to ask for that while it runs.
 */

import { setFlagsFromString } from 'node:v8'

/** Garbage may take twice as much as what is in use. By itself V8 allows 0.1 to 3 times as much. */
const garbagePercent = 200

let hasRoom = false
let wishes = 0

/** For a process of our own. */
export function roomForGarbage(): Disposable {
  hasRoom = true
  setFlags()
  return {
    [Symbol.dispose]() {
      hasRoom = false
      setFlags()
    },
  }
}

export function smallHeaps(): Disposable {
  wishes++
  setFlags()
  let isOver = false
  return {
    [Symbol.dispose]() {
      if (isOver) return
      isOver = true
      wishes--
      setFlags()
    },
  }
}

function setFlags(): void {
  setFlagsFromString(wishes > 0 ? '--optimize-for-size' : '--no-optimize-for-size')
  // 0: V8 chooses.
  setFlagsFromString(`--heap-growing-percent=${hasRoom && wishes === 0 ? garbagePercent : 0}`)
}
