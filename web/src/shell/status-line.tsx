/** The status line: deaths within a minute, dead but present items, and the work of the last second. */

import type { JSX } from 'preact'
import { session, totals } from '../live/server-state.ts'
import { addressOf } from '../navigation/routes.ts'
import { count, ruText, shortCount } from '../text/number-text.ts'
import { RunningJobs } from './running-jobs.tsx'

function Fact({
  n,
  about,
  children,
  tone,
  hide,
}: {
  n: number
  about?: boolean
  children: string
  tone?: string
  hide?: string
}): JSX.Element {
  return (
    <span class={`${tone ?? ''} ${hide ?? ''}`} title={count(n)}>
      <b class={tone}>
        {about && 'about '}
        {shortCount(n)}
      </b>{' '}
      {children}
    </span>
  )
}

export function StatusLine() {
  const now = totals.value
  const { version, keepsData } = session.value ?? {}
  return (
    <footer class="status">
      {now && (
        <>
          <Fact n={now.withinMinute} about={now.isAbout}>
            die within 1 min
          </Fact>
          <Fact n={now.dead} tone="dead" hide="hide-s">
            dead but present
          </Fact>
        </>
      )}
      <RunningJobs />
      <span class="sp" />
      {now && (
        <a class="status-load" href={addressOf({ name: 'load' })} title="Load of the whole server">
          <Fact n={now.requests}>requests/s</Fact>
          <span>
            <b>{ruText(now.requestRu)}</b> RU/s
          </span>
          <span class="hide-m">
            Purge <b>{ruText(now.purgeRu)}</b> RU/s
          </span>
        </a>
      )}
      {version && (
        <span class="t3 hide-m">
          mayfly {version}
          {keepsData === false && ', in memory'}
        </span>
      )}
    </footer>
  )
}
