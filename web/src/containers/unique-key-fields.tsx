/** The unique keys of a new container: a field for each, and a button for one more. */

import { useLayoutEffect, useRef } from 'preact/hooks'
import { Field } from '../components/field.tsx'
import { Icon } from '../components/icon.tsx'
import { uniqueKeysMax } from './input-rules.ts'

interface UniqueKeyFieldsProps {
  keys: readonly string[]
  /** Beside the key of the same place. */
  problems: readonly (string | undefined)[]
  onChange: (keys: readonly string[]) => void
}

export function UniqueKeyFields({ keys, problems, onChange }: UniqueKeyFieldsProps) {
  const fields = useRef<HTMLDivElement>(null)
  const known = useRef(keys.length)
  const isFull = keys.length >= uniqueKeysMax
  // Who adds a key wants to type it.
  useLayoutEffect(() => {
    if (keys.length > known.current)
      fields.current?.querySelector<HTMLElement>('.form-field:last-of-type input')?.focus()
    known.current = keys.length
  }, [keys.length])
  return (
    <div class="unique-keys" ref={fields}>
      {keys.map((key, at) => (
        <Field
          key={at}
          label={`Unique key ${at + 1}`}
          hint={at === keys.length - 1 ? 'A path, or several with commas that are unique together.' : undefined}
          problem={problems[at]}
          unit={
            <button
              type="button"
              class="icon"
              aria-label={`Remove unique key ${at + 1}`}
              onClick={() => onChange(keys.filter((_, each) => each !== at))}
            >
              <Icon name="close" small />
            </button>
          }
        >
          <input
            class="mono"
            autocomplete="off"
            spellcheck={false}
            placeholder="/email"
            value={key}
            onInput={event => onChange(keys.with(at, event.currentTarget.value))}
          />
        </Field>
      ))}
      <button
        type="button"
        class="btn sm"
        disabled={isFull}
        title={isFull ? `At most ${uniqueKeysMax}` : undefined}
        onClick={() => onChange([...keys, ''])}
      >
        <Icon name="add" small />
        Add unique key
      </button>
    </div>
  )
}
