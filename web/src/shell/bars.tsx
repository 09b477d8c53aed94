/** The bars between top bar and page, only when they are needed: lost connection, doubt, manual clock. */

import { useEffect } from 'preact/hooks'
import type { Doubt } from '../api/shapes.ts'
import { announceNow } from '../components/announce.tsx'
import { Icon } from '../components/icon.tsx'
import { connection, isStopping, retryInS, tryNow } from '../live/connection.ts'
import { databases, doubt } from '../live/server-state.ts'
import { clockMode, itemNowMs } from '../time/clock.ts'
import { timeOfDay } from '../time/time-text.ts'
import { zone } from '../time/zone.ts'
import { ClockBar } from './clock-bar/clock-bar.tsx'
import { DoubtBar } from './clock-bar/doubt-bar.tsx'

function LostBar() {
  const stoppedAt = itemNowMs()
  const sentence = isStopping.value ? 'The server has stopped.' : 'The server does not answer.'
  const since =
    stoppedAt > 0
      ? `Countdowns stopped at ${timeOfDay(stoppedAt, zone())}, because only the server knows the time. `
      : ''
  useEffect(() => announceNow(`${sentence} ${since}`), [])
  return (
    <div class="alertbar">
      <span class="danger">
        <Icon name="warning" />
      </span>
      <span class="grow">
        <b class="b">{sentence}</b>{' '}
        <span class="t2">
          {since}
          Trying again in {Math.max(0, retryInS.value)} s.
        </span>
      </span>
      <button type="button" class="btn sm" onClick={tryNow}>
        Try now
      </button>
    </div>
  )
}

/** A doubt that ends by itself changes nothing where nothing waits to be removed. */
function isWorthABar({ endsAt }: Doubt): boolean {
  return endsAt === undefined || !!databases.value?.some(({ containers }) => containers.some(({ dead }) => dead > 0))
}

export function Bars() {
  const isLost = connection.value === 'lost'
  return (
    <div class="bars">
      {isLost && <LostBar />}
      {!isLost && doubt.value && isWorthABar(doubt.value) && <DoubtBar doubt={doubt.value} />}
      {clockMode.value === 'manual' && <ClockBar />}
    </div>
  )
}
