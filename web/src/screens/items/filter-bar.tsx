/** Above the grid: the query that filters it, the four groups with their counts, and the columns. */

import { useEffect, useRef, useState } from 'preact/hooks'
import type { Api, Container, Counts, Filter } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { fieldText } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { useKeys } from '../../navigation/keyboard.ts'
import { count, shortCount } from '../../text/number-text.ts'

const filterLabels: readonly { filter: Filter; label: string }[] = [
  { filter: 'all', label: 'All' },
  { filter: 'minute', label: 'Under 1 min' },
  { filter: 'dead', label: 'Dead but present' },
  { filter: 'never', label: 'Never' },
]

/** An example with the container's own words. */
export function placeholderOf(container: Pick<Container, 'partitionKey'>, api: Api): string {
  if (api === 'mongo') return '{ "status": "open" }'
  const path = container.partitionKey[0] ?? '/id'
  return `c${path.replaceAll('/', '.')} = "u100"`
}

interface FilterBarProps {
  container: Container
  query: string
  filter: Filter
  counts: Counts | undefined
  error: unknown
  /** The query of the last time, to be offered again. */
  recent: readonly string[]
  onQuery: (query: string) => void
  onFilter: (filter: Filter) => void
  children: preact.ComponentChildren
}

export function FilterBar(props: FilterBarProps) {
  const { container, query, filter, counts, error, recent, onQuery, onFilter, children } = props
  const [text, setText] = useState(query)
  const field = useRef<HTMLInputElement>(null)
  useEffect(() => setText(query), [query])
  useKeys({
    '/': () => field.current?.focus(),
    ...Object.fromEntries(filterLabels.map((each, index) => [String(index + 1), () => onFilter(each.filter)])),
  })
  const hasProblem = error !== undefined && query !== ''
  return (
    <>
      <div class="toolbar">
        <span class={hasProblem ? 'field soft grow bad' : 'field soft grow'}>
          <Icon name="filter" />
          <input
            ref={field}
            class="mono"
            aria-label="Filter"
            placeholder={placeholderOf(container, container.api)}
            list="recent-filters"
            autocomplete="off"
            spellcheck={false}
            value={text}
            aria-invalid={hasProblem ? 'true' : undefined}
            aria-describedby={hasProblem ? 'filter-problem' : undefined}
            onInput={event => setText(event.currentTarget.value)}
            onKeyDown={event => {
              if (event.key === 'Enter') onQuery(text.trim())
              if (event.key === 'Escape') {
                setText(query)
                field.current?.blur()
              }
            }}
          />
          {text.trim() !== query && (
            <button type="button" class="link fs12" onClick={() => onQuery(text.trim())}>
              Apply
            </button>
          )}
          {query !== '' && text.trim() === query && (
            <button
              type="button"
              class="icon field-clear"
              aria-label="Clear filter"
              title="Clear filter"
              onClick={() => onQuery('')}
            >
              <Icon name="close" small />
            </button>
          )}
          <datalist id="recent-filters">
            {recent.map(each => (
              <option key={each} value={each} />
            ))}
          </datalist>
        </span>
        <Segments
          label="Show"
          isBare
          value={filter}
          onChange={onFilter}
          options={filterLabels.map(({ filter: value, label }) => ({
            value,
            label: (
              <>
                {label}{' '}
                {counts && (
                  <span class="q" title={`${counts.isAbout ? 'About ' : ''}${count(counts[value])}`}>
                    {shortCount(counts[value])}
                  </span>
                )}
              </>
            ),
          }))}
        />
        {children}
      </div>
      {hasProblem && (
        <p class="field-problem danger" id="filter-problem" role="alert">
          {fieldText(error)}
        </p>
      )}
    </>
  )
}
