/** The queries of the last days in this browser, and how an index would help the last one. */

import { Icon } from '../../components/icon.tsx'
import { counted, ruText } from '../../text/number-text.ts'
import { itemNowMs } from '../../time/clock.ts'
import { fullTime } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'

export interface PastQuery {
  text: string
  kind: 'sql' | 'filter' | 'pipeline'
  partition?: string
  sort?: string
  projection?: string
  atMs: number
  rows: number
  ru: number
}

export const historyMax = 50

/** The newest first; a query that is run again moves up. */
export function remembering(history: readonly PastQuery[], query: PastQuery): PastQuery[] {
  return [query, ...history.filter(past => nameOf(past) !== nameOf(query))].slice(0, historyMax)
}

/** What makes two runs the same query. */
function nameOf({ kind, text, partition = '', sort = '', projection = '' }: PastQuery): string {
  return JSON.stringify([kind, text, partition, sort, projection])
}

/** The options of a query, behind its text. */
function optionsText({ partition, sort, projection }: PastQuery): string {
  const shown = Object.entries({ partition, sort, projection }).filter(([, text]) => text)
  return shown.map(([name, text]) => `, ${name} ${text}`).join('')
}

interface HistoryProps {
  history: readonly PastQuery[]
  wished: readonly string[]
  settingsHref: string
  onChoose: (query: PastQuery) => void
  onClear: () => void
  onClose: () => void
}

export function History({ history, wished, settingsHref, onChoose, onClear, onClose }: HistoryProps) {
  return (
    <aside class="pane" aria-label="Query history">
      <div class="ihead">
        <button type="button" class="icon onlym" aria-label="Back to the query" onClick={onClose}>
          <Icon name="back" />
        </button>
        <h2 class="plain-head">History</h2>
        <span class="grow" />
        {history.length > 0 && (
          <button type="button" class="btn txt sm" onClick={onClear}>
            Clear
          </button>
        )}
      </div>
      <ul class="past-list">
        {history.map(past => (
          <li key={nameOf(past)}>
            <button type="button" class="past" title={past.text} onClick={() => onChoose(past)}>
              <span class="mono">{past.text.replace(/\s+/g, ' ') + optionsText(past)}</span>
              <span class="t3">
                {fullTime(past.atMs, itemNowMs(), zone())}, {counted(past.rows, 'row')}, {ruText(past.ru)} RU
              </span>
            </button>
          </li>
        ))}
        {history.length === 0 && (
          <li class="t3 fs12 past-none">Queries that you run are kept here, in this browser.</li>
        )}
      </ul>
      {wished.length > 0 && (
        <section class="wish">
          <h3>An index would help</h3>
          <p class="t2 fs12">
            The last query looked at items that it did not need: <span class="mono">{wished.join(', ')}</span>{' '}
            {wished.length === 1 ? 'is' : 'are'} not in an index that fits.
          </p>
          <a class="fs12" href={settingsHref}>
            Look at the indexes in Settings
          </a>
        </section>
      )}
    </aside>
  )
}
