/**
 * Dialogs. The browser's own `dialog` keeps the focus inside, makes the rest of the page inert, and gives
 * the focus back when it closes.
 */

import type { ComponentChildren } from 'preact'
import { useId, useLayoutEffect, useRef } from 'preact/hooks'
import { Icon } from './icon.tsx'

interface DialogProps {
  title: string
  onClose: () => void
  children: ComponentChildren
  /** The buttons at the bottom. */
  footer?: ComponentChildren
  width?: number
  /** Destructive questions are alert dialogs; they have no cross and begin on the harmless button. */
  isAlert?: boolean
  /** Hides the title bar: the palette has a field in its place. */
  isBare?: boolean
}

export function Dialog({
  title,
  onClose,
  children,
  footer,
  width = 560,
  isAlert = false,
  isBare = false,
}: DialogProps) {
  const ref = useRef<HTMLDialogElement>(null)
  const id = useId()
  // Before it is painted, so that Escape closes it as soon as it is visible.
  useLayoutEffect(() => {
    const dialog = ref.current!
    const opener = document.activeElement
    dialog.showModal()
    const first = dialog.querySelector<HTMLElement>('[data-autofocus]')
    first?.focus()
    return () => {
      dialog.close()
      if (opener instanceof HTMLElement && opener.isConnected) opener.focus()
    }
  }, [])
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the keyboard closes it with Escape, by onCancel.
    <dialog
      ref={ref}
      class="scrim on"
      role={isAlert ? 'alertdialog' : undefined}
      aria-label={isBare ? title : undefined}
      aria-labelledby={isBare ? undefined : `${id}-title`}
      aria-describedby={isAlert ? `${id}-body` : undefined}
      onCancel={event => {
        event.preventDefault()
        onClose()
      }}
      // The browser closes it without asking when nobody typed or clicked since it asked last.
      onClose={() => {
        if (ref.current?.isConnected) onClose()
      }}
      onClick={event => {
        if (event.target === ref.current) onClose()
      }}
    >
      <div class="dialog" style={{ maxWidth: `${width}px` }}>
        {!isBare && (
          <header>
            <h2 id={`${id}-title`}>{title}</h2>
            {!isAlert && (
              <button type="button" class="icon" aria-label="Close" onClick={onClose}>
                <Icon name="close" />
              </button>
            )}
          </header>
        )}
        {isBare ? (
          children
        ) : (
          <div class="dbody" id={`${id}-body`}>
            {children}
          </div>
        )}
        {footer && <footer>{footer}</footer>}
      </div>
    </dialog>
  )
}
