/** Asks before something is deleted, with the count of what it hits; large things ask for their name as well. */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { messageOf } from '../api/client.ts'
import { Dialog } from './dialog.tsx'
import { Refusal } from './refusal.tsx'

interface ConfirmDeleteProps {
  title: string
  children: ComponentChildren
  /** The verb with its count: `Delete 18,204 items`. */
  label: string
  keepLabel?: string
  /** What has to be typed; without it, the button is ready at once. */
  typed?: string
  run: () => Promise<void>
  onClose: () => void
}

export function ConfirmDelete(props: ConfirmDeleteProps) {
  const { title, children, label, keepLabel = 'Keep it', typed, run, onClose } = props
  const [text, setText] = useState('')
  const [isRunning, setRunning] = useState(false)
  const [error, setError] = useState<unknown>()
  const isReady = typed === undefined || text === typed
  const start = async () => {
    setRunning(true)
    setError(undefined)
    try {
      await run()
      onClose()
    } catch (thrown) {
      setError(thrown)
      setRunning(false)
    }
  }
  return (
    <Dialog
      title={title}
      width={480}
      isAlert
      onClose={onClose}
      footer={
        <>
          <button type="button" class="btn" data-autofocus={typed === undefined} onClick={onClose}>
            {keepLabel}
          </button>
          <button
            type="button"
            class="btn del"
            disabled={!isReady || isRunning}
            title={isReady ? undefined : `Type ${typed} to go on`}
            onClick={start}
          >
            {isRunning ? 'Deleting…' : label}
          </button>
        </>
      }
    >
      <div class="confirm">{children}</div>
      {typed !== undefined && (
        <label class="confirm-type">
          <span>
            Type <b class="mono b">{typed}</b> to go on
          </span>
          <span class="field">
            <input
              class="mono"
              value={text}
              data-autofocus
              autocomplete="off"
              spellcheck={false}
              onInput={event => setText(event.currentTarget.value)}
            />
            <span class="t3 fs12">{missingText(text, typed)}</span>
          </span>
        </label>
      )}
      {error !== undefined && <Refusal error={error} message={messageOf(error)} />}
    </Dialog>
  )
}

function missingText(text: string, typed: string): string {
  if (!typed.startsWith(text)) return 'not the name'
  const missing = typed.length - text.length
  if (missing === 0) return ''
  return missing === 1 ? '1 letter missing' : text && `${missing} letters missing`
}
