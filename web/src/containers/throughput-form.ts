/** The rules of the protocol for the throughput of a container. */

import type { Throughput } from '../api/shapes.ts'
import { count } from '../text/number-text.ts'

export type ThroughputKind = 'manual' | 'autoscale'

const throughputLimits = {
  manual: { least: 400, most: 1_000_000, step: 100 },
  autoscale: { least: 1_000, most: 1_000_000, step: 1_000 },
} as const

export const ruLabel: Readonly<Record<ThroughputKind, string>> = {
  manual: 'RU per second',
  autoscale: 'Maximum RU per second',
}

/** `400 to 1,000,000, in steps of 100.` */
export function throughputHint(kind: ThroughputKind): string {
  const { least, most, step } = throughputLimits[kind]
  return `${count(least)} to ${count(most)}, in steps of ${count(step)}.`
}

/** The number of the other kind, if it is one of this kind as well; otherwise the least of this kind. */
export function leastText(kind: ThroughputKind, text: string): string {
  const { least } = throughputLimits[kind]
  return numberIn(text) < least ? String(least) : text
}

const numberIn = (text: string) => Number(text.replaceAll(/[,\s]/g, ''))

/** The throughput of a form, or the reason why it is not valid. */
export function readThroughput(kind: ThroughputKind, text: string): { throughput?: Throughput; problem?: string } {
  const { least, most, step } = throughputLimits[kind]
  const ru = numberIn(text)
  if (!Number.isInteger(ru) || ru < least || ru > most || ru % step !== 0) {
    return { problem: `Use ${count(least)} to ${count(most)} RU/s, in steps of ${count(step)}.` }
  }
  return { throughput: kind === 'manual' ? { kind, ruPerSecond: ru } : { kind, maxRuPerSecond: ru } }
}
