/** What is left of an item's life, as the page shows it: a text, its urgency, the share of its lifespan. */

import { agoText, leftText } from '../time/time-text.ts'

/** When an item was written, null: not known; and when it dies, null: never. */
export interface LifeTimes {
  ts: number | null
  deadline: number | null
}

/** `urgent` is under 10 s, `soon` under a minute. */
export type Urgency = 'never' | 'calm' | 'soon' | 'urgent' | 'dead'

export function urgencyOf({ deadline }: LifeTimes, nowMs: number): Urgency {
  if (deadline === null) return 'never'
  const leftMs = deadline * 1000 - nowMs
  if (leftMs <= 0) return 'dead'
  if (leftMs < 10_000) return 'urgent'
  return leftMs < 60_000 ? 'soon' : 'calm'
}

/** `29 s`, `never`, `3 s ago`. */
export function lifeText({ deadline }: LifeTimes, nowMs: number): string {
  if (deadline === null) return 'never'
  const leftMs = deadline * 1000 - nowMs
  return leftMs > 0 ? leftText(leftMs) : agoText(-leftMs / 1000)
}

/** The part of the lifespan that is left, 0 to 100. */
export function shareLeft({ ts, deadline }: LifeTimes & { ts: number }, nowMs: number): number {
  if (deadline === null) return 100
  const span = deadline - ts
  if (span <= 0) return 0
  const share = ((deadline * 1000 - nowMs) / (span * 1000)) * 100
  return Math.min(100, Math.max(0, share))
}

/** The classes of the theme for each urgency. */
export const urgencyClass: Readonly<Record<Urgency, string>> = {
  never: 'isnever',
  calm: '',
  soon: 'soon',
  urgent: 'dying10',
  dead: 'ghost',
}

/** The colour of a text that tells an urgency. */
export const urgencyTone: Readonly<Record<Urgency, string>> = {
  never: 'never',
  calm: '',
  soon: 'life m',
  urgent: 'danger b',
  dead: 'dead',
}
