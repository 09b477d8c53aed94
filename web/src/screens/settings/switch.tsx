/** A switch with its name and what it means. */

import type { ComponentChildren, JSX } from 'preact'
import { useId } from 'preact/hooks'

interface SwitchProps {
  label: string
  isOn: boolean
  disabled?: boolean
  onChange: (isOn: boolean) => void
  children: ComponentChildren
}

export function Switch({ label, isOn, disabled = false, onChange, children }: SwitchProps): JSX.Element {
  const id = useId()
  return (
    <div class="switch-row">
      <button
        type="button"
        class="switch"
        role="switch"
        aria-checked={isOn}
        aria-label={label}
        aria-describedby={id}
        disabled={disabled}
        onClick={() => onChange(!isOn)}
      />
      <b class="b">{label}</b>
      <span id={id}>{children}</span>
    </div>
  )
}
