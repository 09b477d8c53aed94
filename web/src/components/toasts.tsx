/** Short notes about events that the screen does not show: of other screens, or by other users. */

import { signal } from '@preact/signals'
import { Icon } from './icon.tsx'

export interface Toast {
  title: string
  text?: string
  kind?: 'done' | 'failed'
  action?: { label: string; run: () => void }
}

const shownMs = 6000
/** Failures stay longer: they have to be read. */
const failureMs = 12_000
const toastsMax = 3

let lastId = 0
const toasts = signal<readonly (Toast & { id: number })[]>([])

export function showToast(toast: Toast): void {
  const id = ++lastId
  toasts.value = [...toasts.peek(), { ...toast, id }].slice(-toastsMax)
  setTimeout(() => closeToast(id), toast.kind === 'failed' ? failureMs : shownMs)
}

function closeToast(id: number): void {
  toasts.value = toasts.peek().filter(toast => toast.id !== id)
}

export function Toasts() {
  return (
    <div class="toasts" role="status" aria-live="polite">
      {toasts.value.map(({ id, title, text, kind, action }) => (
        <div key={id} class="toast on">
          <Icon name={kind === 'failed' ? 'warning' : 'done'} />
          <span class="grow">
            <b class="b">{title}</b>
            {text && <span class="toast-text">{text}</span>}
          </span>
          {action && (
            <button
              type="button"
              class="toast-action"
              onClick={() => {
                closeToast(id)
                action.run()
              }}
            >
              {action.label}
            </button>
          )}
          <button type="button" class="toast-close" aria-label="Close this note" onClick={() => closeToast(id)}>
            <Icon name="close" small />
          </button>
        </div>
      ))}
    </div>
  )
}
