/** A button that opens a short menu below it; the arrows move, Escape closes. */

import type { ComponentChildren } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'

export interface MenuEntry {
  label: string
  /** Why the entry is disabled now. */
  disabled?: string
  isDanger?: boolean
  run: () => void
}

interface MenuProps {
  label: string
  entries: readonly (MenuEntry | 'line')[]
  children: ComponentChildren
  class?: string
}

export function Menu({ label, entries, children, class: name = 'icon' }: MenuProps) {
  const [isOpen, setOpen] = useState(false)
  const root = useRef<HTMLSpanElement>(null)
  useEffect(() => {
    if (!isOpen) return
    root.current!.querySelector<HTMLElement>('[role=menuitem]')?.focus()
    const closeOutside = (event: Event) => {
      if (!root.current?.contains(event.target as Node)) setOpen(false)
    }
    document.addEventListener('pointerdown', closeOutside)
    return () => document.removeEventListener('pointerdown', closeOutside)
  }, [isOpen])
  const close = () => {
    setOpen(false)
    root.current?.querySelector('button')?.focus()
  }
  return (
    <span class="menu-root" ref={root}>
      <button
        type="button"
        class={name}
        aria-label={label}
        title={label}
        aria-haspopup="menu"
        aria-expanded={isOpen}
        onClick={() => setOpen(!isOpen)}
      >
        {children}
      </button>
      {isOpen && (
        <div class="popover menu-list" role="menu" aria-label={label} onKeyDown={event => moveInMenu(event, close)}>
          {entries.map((entry, index) =>
            entry === 'line' ? (
              <hr key={index} />
            ) : (
              <button
                key={entry.label}
                type="button"
                role="menuitem"
                tabIndex={-1}
                class={entry.isDanger ? 'danger' : ''}
                aria-disabled={entry.disabled !== undefined}
                title={entry.disabled}
                onClick={() => {
                  if (entry.disabled !== undefined) return
                  close()
                  entry.run()
                }}
              >
                {entry.label}
              </button>
            ),
          )}
        </div>
      )}
    </span>
  )
}

function moveInMenu(event: KeyboardEvent, close: () => void): void {
  const menu = event.currentTarget as HTMLElement
  const entries = [...menu.querySelectorAll<HTMLElement>('[role=menuitem]')]
  const at = entries.indexOf(document.activeElement as HTMLElement)
  const step = { ArrowDown: 1, ArrowUp: -1 }[event.key]
  if (step) entries[(at + step + entries.length) % entries.length]?.focus()
  else if (event.key === 'Home') entries[0]?.focus()
  else if (event.key === 'End') entries.at(-1)?.focus()
  else if (event.key === 'Escape' || event.key === 'Tab') close()
  else return
  if (event.key !== 'Tab') event.preventDefault()
  event.stopPropagation()
}
