/** The cost of a query: charge, time, items read and rows returned, in all and by page. */

import type { QueryResult } from '../../api/shapes.ts'
import { bytesText, count, counted, ruText } from '../../text/number-text.ts'

export function millisecondsText(ms: number): string {
  if (ms < 1) return '< 1 ms'
  return ms < 10_000 ? `${ms < 10 ? Number(ms.toFixed(1)) : Math.round(ms)} ms` : `${(ms / 1000).toFixed(1)} s`
}

/** All pages as one. */
export function sumOf(pages: readonly QueryResult[]) {
  const sum = (pick: (page: QueryResult) => number) => pages.reduce((total, page) => total + pick(page), 0)
  /** A sum with a part that nobody knows is not known. */
  const knownSum = (pick: (page: QueryResult) => number | null) =>
    pages.some(page => pick(page) === null) ? null : sum(page => pick(page) ?? 0)
  const itemsRead = knownSum(page => page.itemsRead)
  const rowsOut = sum(page => page.rowsOut)
  const used = pages.flatMap(page => page.usedIndexes ?? [])
  return {
    chargeRu: sum(page => page.chargeRu),
    elapsedMs: sum(page => page.elapsedMs),
    itemsRead,
    bytesRead: knownSum(page => page.bytesRead),
    rowsOut,
    bytesOut: sum(page => page.bytesOut),
    indexHit: pages.length === 1 ? pages[0]!.indexHit : hitOf(rowsOut, itemsRead),
    deadSkipped: pages.at(-1)?.deadSkipped ?? 0,
    used: pages.every(page => page.usedIndexes === null) ? null : [...new Set(used)],
    wished: [...new Set(pages.flatMap(page => page.wishedIndexes))],
  }
}

function hitOf(rowsOut: number, itemsRead: number | null): number | null {
  if (itemsRead === null) return null
  return itemsRead === 0 ? 1 : Math.min(1, rowsOut / itemsRead)
}

/** `97 %` */
export function shareText(share: number): string {
  return `${Math.round(share * 100)} %`
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
  const { itemsRead, bytesRead, indexHit } = all
  return (
    <div class="stats-tab">
      <dl class="stats">
        <Fact label="Request charge" small="RU">
          {ruText(all.chargeRu)}
        </Fact>
        <Fact label="Time">{millisecondsText(all.elapsedMs)}</Fact>
        {itemsRead !== null && (
          <Fact label="Items read" {...(bytesRead !== null && { small: bytesText(bytesRead) })}>
            {count(itemsRead)}
          </Fact>
        )}
        <Fact label="Rows out" small={bytesText(all.bytesOut)}>
          {count(all.rowsOut)}
        </Fact>
        {indexHit !== null && (
          <Fact label="Index hit" small="rows out of items read">
            {shareText(indexHit)}
          </Fact>
        )}
      </dl>
      <div class="pad stats-more">
        <p>
          {all.used?.length === 0 && 'Read without an index. '}
          {all.used !== null && all.used.length > 0 && (
            <>
              Read by the index on <span class="mono">{all.used.join(', ')}</span>.{' '}
            </>
          )}
          {all.wished.length > 0 && (
            <>
              An index on <span class="mono">{all.wished.join(', ')}</span> would have read less.
            </>
          )}
        </p>
        <p class="t2">{all.deadSkipped === 0 ? 'No dead item lies in the way.' : waitingText(all.deadSkipped)}</p>
        <table class="tbl card page-costs">
          <thead>
            <tr>
              <th class="r">page</th>
              <th class="r">RU</th>
              <th class="r">time</th>
              {itemsRead !== null && <th class="r">items read</th>}
              <th class="r">rows</th>
            </tr>
          </thead>
          <tbody>
            {pages.map((page, index) => (
              <tr key={index}>
                <td class="r t3">{index + 1}</td>
                <td class="r">{ruText(page.chargeRu)}</td>
                <td class="r">{millisecondsText(page.elapsedMs)}</td>
                {itemsRead !== null && <td class="r">{count(page.itemsRead ?? 0)}</td>}
                <td class="r">{count(page.rowsOut)}</td>
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </div>
  )
}

function waitingText(dead: number): string {
  const [verb, them] = dead === 1 ? ['waits', 'it'] : ['wait', 'them']
  return `${counted(dead, 'dead item')} of this container ${verb} to be removed. No query sees ${them}.`
}
