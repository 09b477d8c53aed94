/** The memory of the process without mapped files. */

import { readFileSync } from 'node:fs'
import { KiB } from '../../base/limits.ts'

/** Only Linux tells it. Elsewhere it is V8's part, without malloc's. */
export function ownSize(): number {
  if (process.platform === 'linux') {
    const anonymous = /^RssAnon:\s+(\d+) kB/m.exec(readFileSync('/proc/self/status', 'latin1'))
    if (anonymous !== null) return Number(anonymous[1]) * KiB
  }
  const { heapTotal, external } = process.memoryUsage()
  return heapTotal + external
}
