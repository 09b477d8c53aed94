/**
 * Shows the progress of a long command on standard error: on a terminal one line that is updated in place,
 * otherwise a line every few seconds.
 */

import { machine } from '../base/clock.ts'
import { durationText } from '../base/time-words.ts'

const barChars = 24
const showEveryMs = 100
const plainEveryMs = 5000

export interface ProgressState {
  /** The present action. The bar begins again when it changes. */
  readonly phase: string
  /** The file or container that it is done with. */
  readonly subject: string
  /** Things done, for the rate. */
  readonly done: number
  readonly unit: string
  /** The part that is done, from 0 to 1; undefined: not known. */
  readonly share: number | undefined
}

export class ProgressBar {
  readonly #isTerminal = process.stderr.isTTY === true
  #phase: string | undefined
  #startMs = 0
  #startDone = 0
  #startShare = 0
  #shownMs = 0

  show(state: ProgressState): void {
    const { phase, done, share } = state
    const nowMs = machine.monotonicMs()
    if (phase !== this.#phase) {
      this.#phase = phase
      this.#startMs = nowMs
      this.#startDone = done
      this.#startShare = share ?? 0
      this.#shownMs = this.#isTerminal ? 0 : nowMs
    }
    if (nowMs - this.#shownMs < (this.#isTerminal ? showEveryMs : plainEveryMs)) return
    this.#shownMs = nowMs
    const text = this.#textOf(state, (nowMs - this.#startMs) / 1000)
    process.stderr.write(this.#isTerminal ? `\r${cut(text)}\x1b[K` : `${text}\n`)
  }

  clear(): void {
    if (this.#isTerminal) process.stderr.write('\r\x1b[K')
  }

  #textOf({ phase, subject, done, unit, share }: ProgressState, seconds: number): string {
    const rate = (done - this.#startDone) / Math.max(0.001, seconds)
    const parts = [`${done} ${unit}`, `${Math.round(rate)}/s`]
    if (share === undefined) return `${phase} ${subject}: ${parts.join(', ')}`
    const sharePerSecond = (share - this.#startShare) / Math.max(0.001, seconds)
    if (sharePerSecond > 0) parts.push(`${durationText(Math.ceil((1 - share) / sharePerSecond))} left`)
    const filled = Math.min(barChars, Math.round(barChars * share))
    const bar = this.#isTerminal ? `[${'#'.repeat(filled)}${'.'.repeat(barChars - filled)}] ` : ''
    return `${phase} ${bar}${Math.floor(100 * share)} %, ${parts.join(', ')}  ${subject}`
  }
}

function cut(text: string): string {
  return text.slice(0, Math.max(20, (process.stderr.columns ?? 80) - 1))
}
