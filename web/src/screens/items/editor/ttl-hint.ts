/** The hint behind `ttl`: when the item dies as it is stored, or when it would die if it were saved now. */

import type { Container, Item } from '../../../api/shapes.ts'
import { fullTime, leftText, type Zone } from '../../../time/time-text.ts'
import type { Hint } from './item-extensions.ts'

interface HintOf {
  /** Of the text in the editor, as `ownTtl` reads it. */
  ttl: number | null | undefined
  item: Pick<Item, 'deadline' | 'isDead'> | undefined
  container: Pick<Container, 'defaultTtl' | 'ttl'>
  isChanged: boolean
  nowMs: number
  zone: Zone
}

export function ttlHint({ ttl, item, container, isChanged, nowMs, zone }: HintOf): Hint | undefined {
  const { defaultTtl } = container
  if (ttl === null) return undefined
  if (container.ttl.kind === 'date') {
    return ttl === undefined ? undefined : { text: 'only data: a date says when it dies', tone: 'plain' }
  }
  if (Number.isNaN(ttl)) return { text: 'ttl is a whole number of seconds, or -1', tone: 'danger' }
  if (defaultTtl === null) {
    return ttl === undefined ? undefined : { text: 'only data: Time to Live is Off', tone: 'plain' }
  }
  if (item?.isDead && item.deadline === null && !isChanged) return undefined
  const seconds = ttl ?? defaultTtl
  const source = ttl === undefined ? (defaultTtl > 0 ? `no ttl: inherits ${defaultTtl} s, ` : 'no ttl: ') : ''
  if (seconds === -1) return { text: `${source}never dies`, tone: 'never' }
  const isStored = item !== undefined && !isChanged
  const deadlineMs = isStored ? (item.deadline ?? 0) * 1000 : nowMs + seconds * 1000
  const at = fullTime(deadlineMs, nowMs, zone)
  if (!isStored) return { text: `${source}saved now, dies ${at}`, tone: 'life' }
  const leftMs = deadlineMs - nowMs
  if (item.isDead || leftMs <= 0) return { text: `${source}died ${at}`, tone: 'danger' }
  const isUrgent = leftMs < 10_000
  return {
    text: `${source}dies ${at}${ttl === undefined ? '' : `, in ${leftText(Math.ceil(leftMs / 1000) * 1000)}`}`,
    tone: isUrgent ? 'danger' : 'life',
  }
}
