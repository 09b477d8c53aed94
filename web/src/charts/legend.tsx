/** The legend of a chart. Its entries are buttons that switch a series off and on. */

import type { JSX } from 'preact'

export interface LegendEntry<Series extends string> {
  readonly series: Series
  readonly label: string
  /** The class of its swatch. */
  readonly swatch: 'inherited' | 'own' | 'removed' | 'waiting' | 'requests' | 'purge' | 'throttled'
}

interface LegendProps<Series extends string> {
  entries: readonly LegendEntry<Series>[]
  hidden: ReadonlySet<Series>
  onChange: (hidden: ReadonlySet<Series>) => void
}

export function Legend<Series extends string>({ entries, hidden, onChange }: LegendProps<Series>): JSX.Element {
  return (
    <ul class="legend chart-legend">
      {entries.map(({ series, label, swatch }) => (
        <li key={series}>
          <button
            type="button"
            aria-pressed={!hidden.has(series)}
            title={hidden.has(series) ? `Show ${label}` : `Hide ${label}`}
            onClick={() => {
              const next = new Set(hidden)
              if (!next.delete(series)) next.add(series)
              onChange(next)
            }}
          >
            <Swatch kind={swatch} />
            {label}
          </button>
        </li>
      ))}
    </ul>
  )
}

export function Swatch({ kind }: { kind: LegendEntry<string>['swatch'] }): JSX.Element {
  return <i class={`sw sw-${kind}`} aria-hidden="true" />
}
