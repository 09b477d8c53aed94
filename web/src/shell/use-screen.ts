/** The code of a screen, which is loaded when the screen is opened. */

import type { ComponentType } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { messageOf } from '../api/client.ts'
import { reconnections } from '../live/connection.ts'

export type LoadScreenCode<Props> = () => Promise<ComponentType<Props>>

/**
 * What browsers and the build say about code that did not come: Chromium, Firefox, WebKit, a style sheet.
 */
const lostCode =
  /dynamically imported module|Importing a module script failed|'text\/html' is not a valid JavaScript MIME|preload CSS/

const isLostCode = (error: unknown) => error !== undefined && lostCode.test(messageOf(error))

/** Why a screen is not there: its code did not come, or fails by itself. */
export function noScreenText(error: unknown, isLost: boolean): string {
  if (isLostCode(error) && isLost) return 'The server does not answer. This screen comes when it does again.'
  if (isLostCode(error)) return 'The page did not load this screen. Reload the page to get the present version.'
  return `This screen failed: ${messageOf(error)}`
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
  const error = failed?.load === load ? failed?.error : undefined
  // Browsers do not ask twice for code that did not come. Every screen has an address, so nothing is lost.
  const connections = useRef(reconnections.value)
  useEffect(() => {
    if (isLostCode(error) && reconnections.value > connections.current) location.reload()
    connections.current = reconnections.value
  }, [error, reconnections.value])
  return {
    Screen: loaded.get(load) as ComponentType<Props> | undefined,
    error,
  }
}
