/** What happened to an item, in a few words: `cart.0.qty 1 → 2`, `own ttl of 60 s, written 13:50:20`. */

import type { Change } from '../../api/shapes.ts'
import { bytesText } from '../../text/number-text.ts'
import { spanText } from '../../time/time-text.ts'

/** A difference between two texts of an item. */
export interface Difference {
  readonly path: string
  readonly before?: string
  readonly after?: string
}

const differencesMax = 3
const valueCharsMax = 24

/** The values that differ, by their path, without system properties. */
export function differencesOf(before: string, after: string): Difference[] {
  try {
    const found: Difference[] = []
    compare('', JSON.parse(before), JSON.parse(after), found)
    return found
  } catch {
    // A text that was cut is no JSON.
    return []
  }
}

function compare(path: string, before: unknown, after: unknown, found: Difference[]): void {
  if (isTree(before) && isTree(after) && Array.isArray(before) === Array.isArray(after)) {
    for (const name of new Set([...Object.keys(before), ...Object.keys(after)])) {
      if (path === '' && name.startsWith('_') && name !== '_id') continue
      const inner = path === '' ? name : `${path}.${name}`
      if (!(name in after)) found.push({ path: inner, before: shortJson(before[name]) })
      else if (!(name in before)) found.push({ path: inner, after: shortJson(after[name]) })
      else compare(inner, before[name], after[name], found)
    }
    return
  }
  const [old, now] = [shortJson(before), shortJson(after)]
  if (JSON.stringify(before) !== JSON.stringify(after)) found.push({ path, before: old, after: now })
}

function isTree(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null
}

function shortJson(value: unknown): string {
  const text = JSON.stringify(value) ?? ''
  return text.length > valueCharsMax ? `${text.slice(0, valueCharsMax - 1)}…` : text
}

export function differenceText({ path, before, after }: Difference): string {
  if (before === undefined) return /^-?\d/.test(after ?? '') ? `${path} ${after} added` : `${path} added`
  if (after === undefined) return `${path} removed`
  return `${path} ${before} → ${after}`
}

/** `time` writes a time of item time, in seconds. */
export function whatHappened(change: Change, time: (seconds: number) => string): string {
  const { kind, ts, ttl, rule, deadline, bytes, text, previousText } = change
  if (kind === 'delete') return 'deleted by a request'
  if (kind === 'died') return deathText(change, time)
  const end = deadline === null ? 'never dies' : `dies ${time(deadline)}`
  if (kind === 'replace' && previousText !== undefined) {
    const found = differencesOf(previousText, text)
    const words = found.slice(0, differencesMax).map(differenceText)
    const more = found.length - words.length
    if (found.length > 0) return [...words, ...(more > 0 ? [`${more} more`] : [])].join(', ')
    return ts > 0 ? `written again, ${end}` : end
  }
  const own = ttl !== null && rule !== 'off' ? [`ttl ${ttl}`] : []
  const inherits = rule === 'inherited' && deadline !== null ? [`inherits ${spanText(deadline - ts)}`] : []
  return [bytesText(bytes), ...own, ...inherits, end].join(', ')
}

function deathText({ ttl, rule, deadline, ts, text, previousText }: Change, time: (seconds: number) => string): string {
  const last = text || previousText
  const written = writtenAt(last) ?? (deadline !== null && ttl !== null && ttl > 0 ? deadline - ttl : undefined)
  const when = written === undefined ? '' : `, written ${time(written)}`
  if (rule === 'own' && ttl !== null) return `own ttl of ${ttl} s${when}`
  if (rule === 'own') return `at the date that it names${when}`
  if (rule === 'inherited' && written !== undefined) return `inherited ${(deadline ?? ts) - written} s${when}`
  return `lifespan over${when}`
}

function writtenAt(text: string | undefined): number | undefined {
  try {
    const { _ts } = JSON.parse(text ?? '') as { _ts?: unknown }
    return typeof _ts === 'number' ? _ts : undefined
  } catch {
    return undefined
  }
}

/** The look of a pill for each kind. */
export const kindLook: Readonly<Record<Change['kind'], string>> = {
  create: 'ok',
  replace: 'info',
  delete: 'plain',
  died: 'danger',
}
