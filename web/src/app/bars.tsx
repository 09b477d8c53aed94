/** The bars between top bar and page, only when they are needed: lost connection, doubt, manual clock. */

import { useEffect } from 'preact/hooks'
import { ClockBar } from '../clock-bar/clock-bar.tsx'
import { DoubtBar } from '../clock-bar/doubt-bar.tsx'
import { announceNow } from '../components/announce.tsx'
import { Icon } from '../components/icon.tsx'
import { clockMode, itemNowMs } from '../live/clock.ts'
import { connection, isStopping, retryInS, tryNow } from '../live/connection.ts'
import { doubt } from '../live/store.ts'
import { timeOfDay } from '../live/time-text.ts'
import { zone } from './zone.ts'

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

export function Bars() {
  const isLost = connection.value === 'lost'
  return (
    <div class="bars">
      {isLost && <LostBar />}
      {!isLost && doubt.value && <DoubtBar doubt={doubt.value} />}
      {clockMode.value === 'manual' && <ClockBar />}
    </div>
  )
}
