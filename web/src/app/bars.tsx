/** The bar between top bar and page, only when it is needed: the lost connection, then the manual clock. */

import { useEffect } from 'preact/hooks'
import { announceNow } from '../components/announce.tsx'
import { Icon } from '../components/icon.tsx'
import { itemNowMs } from '../live/clock.ts'
import { connection, isStopping, retryInS, tryNow } from '../live/connection.ts'
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
  return <div class="bars">{connection.value === 'lost' && <LostBar />}</div>
}
