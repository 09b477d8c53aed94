/**
 * The page's only clock: the server's item time. Every answer and every event brings it; between two of them
 * the page counts on with `performance.now()`. The time of the browser's machine is never shown.
 *
 * On the manual clock, and while the server does not answer, time stands: only the server knows it.
 */

import { batch, computed, type ReadonlySignal, signal } from '@preact/signals'

/** Answers arrive late by what the network takes. The sample with the least delay is the nearest one. */
const samplesMax = 12
/** A larger difference is no delay: the clock was set, or the machine slept. */
const jumpMs = 1500

let samples: number[] = []
/** Item time minus `performance.now()`. */
let offset = 0
let standsAt = 0

export type ClockMode = 'system' | 'manual'

export const clockMode = signal<ClockMode>('system')
/** False while the server does not answer. */
export const isTimeKnown = signal(false)
/** Counts how often the time jumped: what was worked out from it must be worked out again. */
export const jumps = signal(0)

const isTicking = computed(() => clockMode.value === 'system' && isTimeKnown.value)

/** Item time in milliseconds. */
export function itemNowMs(): number {
  return isTicking.peek() ? performance.now() + offset : standsAt
}

/** Takes the time that the server has just sent. */
export function syncClock(nowMs: number): void {
  const expected = itemNowMs()
  const sample = nowMs - performance.now()
  batch(() => {
    const wasKnown = isTimeKnown.peek()
    const isJump = !wasKnown || Math.abs(nowMs - expected) > jumpMs
    samples = isJump ? [sample] : [...samples, sample].slice(-samplesMax)
    offset = Math.max(...samples)
    standsAt = nowMs
    isTimeKnown.value = true
    if (isJump) jumps.value++
    if (isJump || clockMode.peek() === 'manual') tick()
  })
}

/** The server does not answer: time stands where it was. */
export function stopClock(): void {
  if (!isTimeKnown.peek()) return
  standsAt = itemNowMs()
  isTimeKnown.value = false
  tick()
}

export function setClockMode(mode: ClockMode): void {
  if (clockMode.peek() === mode) return
  standsAt = itemNowMs()
  clockMode.value = mode
  tick()
}

/** A signal of item time in steps, with a timer that runs only while somebody watches it. */
function steps(stepMs: number): { time: ReadonlySignal<number>; tick: () => void } {
  let timer: ReturnType<typeof setTimeout> | undefined
  const floor = () => Math.floor(itemNowMs() / stepMs) * stepMs
  const next = () => {
    time.value = floor()
    // Aims at the boundary, so that a second changes when the server's second changes.
    timer = setTimeout(next, isTicking.peek() ? stepMs - (itemNowMs() % stepMs) + 1 : stepMs)
  }
  const time = signal(0, {
    watched: next,
    unwatched: () => clearTimeout(timer),
  })
  return {
    time,
    tick: () => {
      time.value = floor()
    },
  }
}

const seconds = steps(1000)
const isMotionReduced = globalThis.matchMedia?.('(prefers-reduced-motion: reduce)').matches ?? false
const tenths = isMotionReduced ? seconds : steps(100)

/** Item time in milliseconds, as whole seconds. */
export const eachSecond = seconds.time
/** Item time in milliseconds, as whole tenths; whole seconds if motion is reduced. For what is in view. */
export const eachTenth = tenths.time

function tick(): void {
  seconds.tick()
  tenths.tick()
}
