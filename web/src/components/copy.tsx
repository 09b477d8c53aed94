/** Buttons that copy a text. */

import { useState } from 'preact/hooks'
import { announce } from './announce.tsx'
import { Icon } from './icon.tsx'
import { showToast } from './toasts.tsx'

const shownMs = 1600

/** Copies a text and announces it, or the reason if the browser refuses. */
export async function copyText(text: string, what: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text)
    announce(`${what} copied`)
    return true
  } catch {
    showToast({ title: 'The browser did not let the page copy.', text, kind: 'failed' })
    return false
  }
}

interface CopyButtonProps {
  text: string
  /** What is copied, for people who do not see where the button stands. */
  what: string
  class?: string
  children?: preact.ComponentChildren
}

export function CopyButton({ text, what, class: name = 'btn txt sm', children }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false)
  return (
    <button
      type="button"
      class={name}
      // Where the text itself is shown, the button is called by it.
      aria-label={children ? undefined : `Copy ${what}`}
      title={children ? `Copy ${what}` : undefined}
      onClick={async () => {
        if (!(await copyText(text, what))) return
        setCopied(true)
        setTimeout(() => setCopied(false), shownMs)
      }}
    >
      {children ?? (
        <>
          <Icon name={isCopied ? 'done' : 'copy'} small />
          <span class="hide-m">{isCopied ? 'Copied' : 'Copy'}</span>
        </>
      )}
      {children && <Icon name={isCopied ? 'done' : 'copy'} small />}
    </button>
  )
}
