/** A choice of one, each with a line that says what it means. */

import type { JSX } from 'preact'
import { useId } from 'preact/hooks'

export interface RadioCard<Value extends string> {
  readonly value: Value
  readonly label: string
  readonly text: string
  /** Why it cannot be chosen. */
  readonly disabled?: string | undefined
}

interface RadioCardsProps<Value extends string> {
  legend: string
  value: Value
  cards: readonly RadioCard<Value>[]
  onChange: (value: Value) => void
}

export function RadioCards<Value extends string>(props: RadioCardsProps<Value>): JSX.Element {
  const { legend, value, cards, onChange } = props
  const name = useId()
  return (
    <fieldset class={`radios radios-${cards.length}`}>
      <legend class="sr">{legend}</legend>
      {cards.map(card => (
        <label
          key={card.value}
          class={`radio ${card.value === value ? 'on' : ''} ${card.disabled ? 'off' : ''}`}
          title={card.disabled}
        >
          <input
            class="sr"
            type="radio"
            name={name}
            value={card.value}
            checked={card.value === value}
            disabled={card.disabled !== undefined}
            onChange={() => onChange(card.value)}
          />
          <i class="o" aria-hidden="true" />
          <b>{card.label}</b>
          <span>{card.text}</span>
        </label>
      ))}
    </fieldset>
  )
}
