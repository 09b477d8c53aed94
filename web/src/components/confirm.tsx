/**
 * Asks before an action that cannot be undone, with a count; for large things the user must type the name.
 */

import type { ComponentChildren } from 'preact'
import { useState } from 'preact/hooks'
import { Dialog } from './dialog.tsx'
import { Refusal } from './refusal.tsx'
import { useSending } from './sending.ts'

interface ConfirmProps {
  title: string
  children: ComponentChildren
  /** The verb with its count: `Delete 18,204 items`. */
  label: string
  /** While it is under way. */
  sendingLabel?: string
  keepLabel?: string
  /** What has to be typed; without it, the button is ready at once. */
  typed?: string
  run: () => Promise<void>
  onClose: () => void
}

export function Confirm(props: ConfirmProps) {
  const { title, children, label, sendingLabel = 'Deleting…', keepLabel = 'Keep it', typed, run, onClose } = props
  const [text, setText] = useState('')
  const { isSending, error, send } = useSending()
  const isReady = typed === undefined || text === typed
  const start = async () => {
    if (await send(run)) onClose()
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
            disabled={!isReady || isSending}
            title={isReady ? undefined : `Type ${typed} to go on`}
            onClick={start}
          >
            {isSending ? sendingLabel : label}
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
      {error !== undefined && <Refusal error={error} />}
    </Dialog>
  )
}

function missingText(text: string, typed: string): string {
  if (!typed.startsWith(text)) return 'not the name'
  const missing = typed.length - text.length
  if (missing === 0) return ''
  return missing === 1 ? '1 letter missing' : text && `${missing} letters missing`
}
