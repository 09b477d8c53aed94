/**
 * Keeps the data of a screen up to date: loads it again after an event, but not while the page is hidden.
 * Loading takes at most a tenth of the time, so that an open page costs a busy server little.
 */

import { useEffect, useRef } from 'preact/hooks'
import { isAborted } from '../api/client.ts'
import type { LiveEvents } from '../api/shapes.ts'
import { jumps } from '../time/clock.ts'
import { onLive, reconnections } from './connection.ts'

const restShare = 10

export interface Refresh {
  /** Never sooner after the last time than this. */
  readonly gapMs: number
  /** The events after which the data may be old. */
  readonly events: readonly (keyof LiveEvents)[]
}

export function useRefresh(
  load: (signal: AbortSignal) => Promise<void>,
  { gapMs, events }: Refresh,
  inputs: readonly unknown[],
): void {
  const latest = useRef(load)
  latest.current = load
  useEffect(() => {
    const controller = new AbortController()
    let isStale = true
    let restUntilMs = 0
    let isLoading = false
    let timer: ReturnType<typeof setTimeout> | undefined
    const run = async () => {
      if (isLoading || !isStale || document.hidden || controller.signal.aborted) return
      const waitMs = restUntilMs - performance.now()
      if (waitMs > 0) {
        clearTimeout(timer)
        timer = setTimeout(run, waitMs)
        return
      }
      isLoading = true
      isStale = false
      const begunMs = performance.now()
      try {
        await latest.current(controller.signal)
      } catch (error) {
        if (!isAborted(error)) throw error
      } finally {
        isLoading = false
        const tookMs = performance.now() - begunMs
        restUntilMs = performance.now() + Math.max(gapMs, tookMs * restShare)
      }
      void run()
    }
    const poke = () => {
      isStale = true
      void run()
    }
    const pokeAtOnce = () => {
      restUntilMs = 0
      poke()
    }
    const ends = [
      ...events.map(name => onLive(name, poke)),
      onLive('clock', pokeAtOnce),
      onLive('resync', pokeAtOnce),
      reconnections.subscribe(n => n > 0 && pokeAtOnce()),
      jumps.subscribe(n => n > 1 && poke()),
    ]
    document.addEventListener('visibilitychange', run)
    void run()
    return () => {
      controller.abort()
      clearTimeout(timer)
      for (const end of ends) end()
      document.removeEventListener('visibilitychange', run)
    }
  }, inputs)
}
