/** The life of an item as a line: the past hatched, the rest amber, with a mark for now. */

import type { Api, Item } from '../../../api/shapes.ts'
import { shareLeft } from '../../../components/life.ts'
import { fullTime } from '../../../time/time-text.ts'
import { isoText, zone } from '../../../time/zone.ts'

interface LifelineProps {
  item: Pick<Item, 'ts' | 'deadline'>
  api: Api
  nowMs: number
  isWide: boolean
}

export function Lifeline({ item, api, nowMs, isWide }: LifelineProps) {
  const { ts, deadline } = item
  if (deadline === null) {
    return (
      <div class="lifeline" aria-hidden="true">
        <div class="track endless" />
        <ol>
          <li title={isoText(ts * 1000)}>
            {fullTime(ts * 1000, nowMs, zone())} {api === 'mongo' ? 'modified' : 'written'}
          </li>
          <li class="never">for ever</li>
        </ol>
      </div>
    )
  }
  const left = shareLeft(item, nowMs)
  const isDead = deadline * 1000 <= nowMs
  const verb = api === 'mongo' ? 'modified' : isWide ? 'last written' : 'written'
  return (
    <div class="lifeline" aria-hidden="true">
      <div class="track">
        <span class="spent" style={{ width: `${100 - left}%` }} />
        <span class="left-part" style={{ width: `${left}%` }} />
        {!isDead && <span class="nowmark" style={{ left: `${100 - left}%` }} />}
      </div>
      <ol>
        <li title={isoText(ts * 1000)}>
          {fullTime(ts * 1000, nowMs, zone())} {verb}
        </li>
        {isWide && left > 12 && left < 70 && (
          <li class="lifeline-now hide-l" style={{ left: `${100 - left}%` }}>
            now
          </li>
        )}
        <li title={isoText(deadline * 1000)}>
          <b>
            {fullTime(deadline * 1000, nowMs, zone())} {isDead ? 'died' : 'dies'}
          </b>
        </li>
      </ol>
    </div>
  )
}
