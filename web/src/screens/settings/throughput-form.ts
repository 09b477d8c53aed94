/** What the throughput of a container may be, as the protocol says. */

import type { Throughput } from '../../api/shapes.ts'

export type ThroughputKind = 'manual' | 'autoscale'

export const throughputLimits = {
  manual: { least: 400, most: 1_000_000, step: 100 },
  autoscale: { least: 1_000, most: 1_000_000, step: 1_000 },
} as const

const numbers = new Intl.NumberFormat('en-US')

/** The throughput of a form, or why it is none. */
export function readThroughput(kind: ThroughputKind, text: string): { throughput?: Throughput; problem?: string } {
  const { least, most, step } = throughputLimits[kind]
  const ru = Number(text.replaceAll(/[,\s]/g, ''))
  if (!Number.isInteger(ru) || ru < least || ru > most || ru % step !== 0) {
    const bounds = `${numbers.format(least)} to ${numbers.format(most)} RU/s`
    return { problem: `Use ${bounds}, in steps of ${numbers.format(step)}.` }
  }
  return { throughput: kind === 'manual' ? { kind, ruPerSecond: ru } : { kind, maxRuPerSecond: ru } }
}
