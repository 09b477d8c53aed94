/** The call that a form sends: whether it is under way, and why the last one was refused. */

import { useState } from 'preact/hooks'

interface Sending {
  isSending: boolean
  error: unknown
  /** Runs the call; false if it was refused, or if another one is under way. */
  send: (call: () => Promise<void>) => Promise<boolean>
  /** The form has changed: the refusal was about something else. */
  forget: () => void
}

export function useSending(): Sending {
  const [isSending, setSending] = useState(false)
  const [error, setError] = useState<unknown>()
  const forget = () => setError(undefined)
  const send = async (call: () => Promise<void>) => {
    if (isSending) return false
    setSending(true)
    forget()
    try {
      await call()
      return true
    } catch (thrown) {
      setError(thrown)
      return false
    } finally {
      setSending(false)
    }
  }
  return { isSending, error, send, forget }
}
