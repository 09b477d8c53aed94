/** A process of hostile clients: does one work until it is told to stop, and says what was answered. */

import type { Target } from './client.ts'
import { WORKS } from './works.ts'

export interface HostileOrder {
  readonly work: string
  readonly port: number
  readonly mongoPort: number
}

/** How often each status, code or closed connection was seen. */
export type Tally = Readonly<Record<string, number>>

let isOver = false
const tally: Record<string, number> = {}

// Loading takes a part of a short run.
process.send!('ready')

process.on('message', (message: HostileOrder | 'stop') => {
  if (message === 'stop') {
    isOver = true
    // What hangs in a request that nobody answers must not wait for it.
    process.send!(tally, () => process.exit())
    return
  }
  const { work, port, mongoPort } = message
  const count = (what: string) => {
    if (!isOver) tally[what] = (tally[what] ?? 0) + 1
  }
  const target: Target = { port, mongoPort, isOver: () => isOver, count }
  WORKS[work]!(target).catch(error => console.error(`${work}: ${error.stack}`))
})
