/** The texts of the clock bar: its distance from the machine's clock, and the deaths of a step. */

import type { Died } from '../../api/shapes.ts'
import { count, counted } from '../../text/number-text.ts'
import { durationText, spanText } from '../../time/time-text.ts'

/** "Manual clock, 3 h 20 m ahead of this machine" */
export function aheadText(aheadSeconds: number): string {
  const far = Math.abs(aheadSeconds)
  if (far < 2) return 'Manual clock, at the time of this machine'
  return `Manual clock, ${durationText(far)} ${aheadSeconds > 0 ? 'ahead of' : 'behind'} this machine`
}

/** `sessions 4,180, carts 31`, the largest first; a name that is there twice, with its database. */
export function perContainer({ containers }: Died): string {
  const sorted = containers.filter(({ count: died }) => died > 0).sort((a, b) => b.count - a.count)
  const isTwice = (name: string) => sorted.filter(each => each.container === name).length > 1
  const named = sorted
    .slice(0, namesMax)
    .map(each => `${isTwice(each.container) ? `${each.database} / ` : ''}${each.container} ${count(each.count)}`)
  const others = sorted.length - named.length
  return [...named, ...(others > 0 ? [`${counted(others, 'other')}`] : [])].join(', ')
}

const namesMax = 6

/** "Advanced 1 h: 4,212 items died." */
export function advancedText(seconds: number, { total }: Died): string {
  const died = total === 0 ? 'nobody died' : `${counted(total, 'item')} died`
  return `Advanced ${stepText(seconds)}: ${died}.`
}

/** `1 h`, and `1 h 08 m` for what is no whole hour. */
function stepText(seconds: number): string {
  const unit = seconds % 86_400 === 0 || seconds < 3600 ? 60 : 3600
  return seconds % unit === 0 ? spanText(seconds) : durationText(seconds)
}

/** The time that somebody wrote, in UTC: `2026-11-15 15:00:00`, or without seconds; undefined if none. */
export function parseMoment(text: string): number | undefined {
  const parts = /^(\d{4})-(\d\d)-(\d\d)(?:[ T](\d\d):(\d\d)(?::(\d\d))?)?\s*(?:Z|UTC)?$/i.exec(text.trim())
  if (!parts) return undefined
  const [year, month, day, hour = 0, minute = 0, second = 0] = parts.slice(1).map(part => Number(part ?? 0))
  const ms = Date.UTC(year!, month! - 1, day!, hour, minute, second)
  // JavaScript makes 3 March of 31 February.
  return momentText(ms).startsWith(text.trim().slice(0, 10)) && hour < 24 && minute < 60 && second < 60
    ? ms / 1000
    : undefined
}

/** `2026-11-15 15:00:00` */
export function momentText(ms: number): string {
  return new Date(ms).toISOString().slice(0, 19).replace('T', ' ')
}
