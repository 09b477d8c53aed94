/** A group of buttons of which one is pressed. */

import type { ComponentChildren } from 'preact'

interface SegmentsProps<Value extends string> {
  label: string
  value: Value
  options: readonly { value: Value; label: ComponentChildren; disabled?: string }[]
  onChange: (value: Value) => void
  /** For toolbars, where the buttons speak for themselves: the label is only said, not shown. */
  isBare?: boolean
}

export function Segments<Value extends string>({ label, value, options, onChange, isBare }: SegmentsProps<Value>) {
  const group = (
    <div class="seg" role="group" aria-label={label}>
      {options.map(option => (
        <button
          key={option.value}
          type="button"
          aria-pressed={option.value === value}
          disabled={option.disabled !== undefined}
          title={option.disabled}
          onClick={() => onChange(option.value)}
        >
          {option.label}
        </button>
      ))}
    </div>
  )
  if (isBare) return group
  return (
    <div class="form-field">
      <span class="m">{label}</span>
      {group}
    </div>
  )
}
