/** A number that counts down to a death, repainted in tenths under 10 s and in seconds before. */

import { useComputed, useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { eachSecond, eachTenth, isTimeKnown } from '../time/clock.ts'
import { type LifeTimes, lifeText, urgencyOf, urgencyTone } from './life.ts'

/** Item time, in the steps that this life needs now: nothing ticks faster than it must. */
export function useLifeClock(life: LifeTimes) {
  const lives = useSignal(life)
  useEffect(() => {
    lives.value = life
  }, [life.ts, life.deadline])
  return useComputed(() => {
    const { deadline } = lives.value
    if (deadline === null) return 0
    const second = eachSecond.value
    const leftMs = deadline * 1000 - second
    return leftMs > 0 && leftMs <= 11_000 ? eachTenth.value : second
  })
}

/** `dies in` is said by what stands around it. */
export function Countdown({ deadline }: { deadline: number | null }) {
  const life = { ts: 0, deadline }
  const nowMs = useLifeClock(life).value
  const tone = isTimeKnown.value ? urgencyTone[urgencyOf(life, nowMs)] : 't3'
  return <span class={tone}>{deadline !== null && deadline * 1000 <= nowMs ? 'now' : lifeText(life, nowMs)}</span>
}
