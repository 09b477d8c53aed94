/** A labelled field of a form, with its error below it. */

import { type ComponentChildren, cloneElement, type VNode } from 'preact'
import { useId } from 'preact/hooks'

interface FieldProps {
  label: string
  /** The input. It gets its id and what describes it. */
  children: VNode<{ id?: string }>
  hint?: ComponentChildren
  problem?: string
  /** Behind the input, inside the frame: a unit. */
  unit?: ComponentChildren
}

export function Field({ label, children, hint, problem, unit }: FieldProps) {
  const id = useId()
  return (
    <div class="form-field">
      <label class="m" for={id}>
        {label}
      </label>
      <span class={problem ? 'field bad' : 'field'}>
        {cloneElement(children, {
          id,
          'aria-invalid': problem ? 'true' : undefined,
          'aria-describedby': problem || hint ? `${id}-about` : undefined,
        } as object)}
        {unit}
      </span>
      {(problem || hint) && (
        <span
          id={`${id}-about`}
          class={problem ? 'danger field-about' : 't2 field-about'}
          role={problem ? 'alert' : undefined}
        >
          {problem ?? hint}
        </span>
      )}
    </div>
  )
}
