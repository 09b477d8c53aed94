/**
 * Corrects an item that was written while the clock was ahead by mistake, as if the clock had been right.
 *
 * After the clock came back, both adapters look for such items (`Store.restamp`): those with a stamp in the
 * future. Versions stay, so etags and feeds do not notice.
 */

import type { EpochSeconds } from '../base/clock.ts'
import type { Body } from '../document/body.ts'
import type { StoredItem } from '../store/item.ts'
import { neverDeadline } from '../store/policy.ts'

export interface Correction {
  /** By how many seconds the clock was ahead. */
  readonly ahead: number
  /** No stamp is later than this. */
  readonly moment: EpochSeconds
  /** The deadline does not count from the write. */
  readonly isDeadlineFixed: boolean
}

export type Stamped = Pick<StoredItem, 'ts' | 'deadline' | 'body'>

export function restamped(item: Stamped, { ahead, moment, isDeadlineFixed }: Correction): Stamped {
  const ts = Math.min(item.ts - ahead, moment) as EpochSeconds
  const isRelative = item.deadline !== null && item.deadline !== neverDeadline && !isDeadlineFixed
  return {
    ts,
    deadline: isRelative ? item.deadline! - (item.ts - ts) : item.deadline,
    body: withTs(item.body, item.ts, ts),
  }
}

/** A JSON body ends with its `_ts`. A BSON body has none. */
function withTs(body: Body, before: EpochSeconds, ts: EpochSeconds): Body {
  if (typeof body !== 'string') return body
  const end = `"_ts":${before}}`
  return body.endsWith(end) ? `${body.slice(0, -end.length)}"_ts":${ts}}` : body
}
