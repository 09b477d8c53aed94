/** The code of a screen, which is loaded when the screen is opened. */

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { messageOf } from '../api/client.ts'

export type LoadScreenCode<Props> = () => Promise<ComponentType<Props>>

/**
 * What browsers and the build say about code that did not come: Chromium, Firefox, WebKit, a style sheet.
 */
const lostCode =
  /dynamically imported module|Importing a module script failed|'text\/html' is not a valid JavaScript MIME|preload CSS/

/** Why a screen is not there: its code did not come, or fails by itself. */
export function noScreenText(error: unknown): string {
  const message = messageOf(error)
  if (lostCode.test(message)) return 'The page did not load this screen. Reload the page to get the present version.'
  return `This screen failed: ${message}`
}

/** By the function that loads it. */
const loaded = new Map<unknown, unknown>()

/** Undefined while the code is on its way; an error if it did not come. */
export function useScreen<Props>(load: LoadScreenCode<Props> | undefined) {
  const [failed, setFailed] = useState<{ load: unknown; error: unknown }>()
  const [, setLoaded] = useState<unknown>()
  useEffect(() => {
    if (!load || loaded.has(load)) return
    let isWanted = true
    load().then(
      screen => {
        loaded.set(load, screen)
        if (isWanted) setLoaded(load)
      },
      error => {
        if (isWanted) setFailed({ load, error })
      },
    )
    return () => {
      isWanted = false
    }
  }, [load])
  return {
    Screen: loaded.get(load) as ComponentType<Props> | undefined,
    error: failed?.load === load ? failed?.error : undefined,
  }
}
