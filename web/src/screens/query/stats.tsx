/** What a query cost: charge, time, what was read for what came out, and each page. */

import type { QueryResult } from '../../api/shapes.ts'
import { bytesText, count, counted, ruText } from '../../live/time-text.ts'

export function millisecondsText(ms: number): string {
  if (ms < 1) return '< 1 ms'
  return ms < 10_000 ? `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** All pages as one. */
export function sumOf(pages: readonly QueryResult[]) {
  const sum = (pick: (page: QueryResult) => number) => pages.reduce((total, page) => total + pick(page), 0)
  const itemsRead = sum(page => page.itemsRead)
  const rowsOut = sum(page => page.rowsOut)
  return {
    chargeRu: sum(page => page.chargeRu),
    elapsedMs: sum(page => page.elapsedMs),
    itemsRead,
    bytesRead: sum(page => page.bytesRead),
    rowsOut,
    bytesOut: sum(page => page.bytesOut),
    indexHit: pages.length === 1 ? pages[0]!.indexHit : itemsRead === 0 ? 1 : Math.min(1, rowsOut / itemsRead),
    deadSkipped: pages.at(-1)?.deadSkipped ?? 0,
    used: [...new Set(pages.flatMap(page => page.usedIndexes))],
    wished: [...new Set(pages.flatMap(page => page.wishedIndexes))],
  }
}

function Fact({ label, children, small }: { label: string; children: string; small?: string }) {
  return (
    <div>
      <dt>{label}</dt>
      <dd>
        {children} {small && <small>{small}</small>}
      </dd>
    </div>
  )
}

export function Stats({ pages }: { pages: readonly QueryResult[] }) {
  const all = sumOf(pages)
  const runsIn = [...new Set(pages.map(page => page.runsIn))].join(', ')
  return (
    <div class="stats-tab">
      <dl class="stats">
        <Fact label="Request charge" small="RU">
          {ruText(all.chargeRu)}
        </Fact>
        <Fact label="Time">{millisecondsText(all.elapsedMs)}</Fact>
        <Fact label="Items read" small={bytesText(all.bytesRead)}>
          {count(all.itemsRead)}
        </Fact>
        <Fact label="Rows out" small={bytesText(all.bytesOut)}>
          {count(all.rowsOut)}
        </Fact>
        <Fact label="Index hit" small="rows out of items read">
          {`${Math.round(all.indexHit * 100)} %`}
        </Fact>
      </dl>
      <div class="pad stats-more">
        <p>
          {all.used.length > 0 ? (
            <>
              Read by the index on <span class="mono">{all.used.join(', ')}</span>.
            </>
          ) : (
            'Read without an index.'
          )}{' '}
          {all.wished.length > 0 && (
            <>
              An index on <span class="mono">{all.wished.join(', ')}</span> would have read less.
            </>
          )}
        </p>
        <p class="t2">
          {all.deadSkipped === 0
            ? 'No dead item lies in the way.'
            : `${counted(all.deadSkipped, 'dead item')} of this container ${all.deadSkipped === 1 ? 'waits' : 'wait'} to be removed. No query sees ${all.deadSkipped === 1 ? 'it' : 'them'}.`}{' '}
          Ran in: {runsIn}.
        </p>
        <table class="tbl card page-costs">
          <thead>
            <tr>
              <th class="r">page</th>
              <th class="r">RU</th>
              <th class="r">time</th>
              <th class="r">items read</th>
              <th class="r">rows</th>
            </tr>
          </thead>
          <tbody>
            {pages.map((page, index) => (
              <tr key={index}>
                <td class="r t3">{index + 1}</td>
                <td class="r">{ruText(page.chargeRu)}</td>
                <td class="r">{millisecondsText(page.elapsedMs)}</td>
                <td class="r">{count(page.itemsRead)}</td>
                <td class="r">{count(page.rowsOut)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}
