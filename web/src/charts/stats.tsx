/** The row of numbers above a chart. */

import type { ComponentChildren, JSX } from 'preact'

export function Stats({ children }: { children: ComponentChildren }): JSX.Element {
  return (
    // On narrow windows it scrolls, and what scrolls must be reachable by the keyboard.
    <dl class="stats" tabIndex={0}>
      {children}
    </dl>
  )
}

interface StatProps {
  label: ComponentChildren
  /** Undefined while it is not known. */
  value: string | undefined
  unit?: string
  tone?: string
  title?: string
}

export function Stat({ label, value, unit, tone = '', title }: StatProps): JSX.Element {
  return (
    <div title={title}>
      <dt>{label}</dt>
      <dd class={tone}>
        {value ?? <span class="t3">—</span>}
        {unit && value !== undefined && <small> {unit}</small>}
      </dd>
    </div>
  )
}
