/** The bars of the expiry chart: future deaths, and past ones that were removed or wait for removal. */

import type { Forecast } from '../../api/shapes.ts'

export type Bucket = Forecast['buckets'][number]

/** A part of the time ahead: deaths after `from`, up to and including `to`. */
export interface Span {
  from: number
  to: number
}

export interface Zoom {
  readonly id: string
  readonly label: string
  readonly window: string
  readonly buckets: number
  /** What is shown behind now, in bars as wide as those ahead; the server counts it by the minute. */
  readonly behind?: { readonly window: string; readonly buckets: number }
}

export const zooms: readonly Zoom[] = [
  { id: '1m', label: '1 min', window: '1m', buckets: 60 },
  { id: '1h', label: '1 h', window: '1h', buckets: 60, behind: { window: '15m', buckets: 15 } },
  { id: '24h', label: '24 h', window: '24h', buckets: 48, behind: { window: '6h', buckets: 12 } },
  { id: '30d', label: '30 d', window: '30d', buckets: 60, behind: { window: '24h', buckets: 2 } },
  { id: 'all', label: 'All', window: 'all', buckets: 60 },
]

/** How many die within a span that begins and ends where buckets do. */
export function deathsIn(buckets: readonly Bucket[], { from, to }: Span): { inherited: number; own: number } {
  let inherited = 0
  let own = 0
  for (const bucket of buckets) {
    if (bucket.start < from || bucket.end > to) continue
    inherited += bucket.inherited
    own += bucket.own
  }
  return { inherited, own }
}

export function deathsWithin(buckets: readonly Bucket[], seconds: number): number {
  const start = buckets[0]?.start ?? 0
  const { inherited, own } = deathsIn(buckets, { from: start, to: start + seconds })
  return inherited + own
}

/** The whole buckets that a span touches; undefined if it touches none. */
export function snapped(buckets: readonly Bucket[], { from, to }: Span): Span | undefined {
  const touched = buckets.filter(bucket => bucket.end > from && bucket.start < Math.max(to, from + 1))
  const first = touched[0]
  return first && { from: first.start, to: touched.at(-1)!.end }
}

/** The whole buckets that come nearest to a span: an address keeps a span while the buckets move on. */
export function nearest(buckets: readonly Bucket[], { from, to }: Span): Span | undefined {
  const first = buckets[0]
  if (!first || to <= first.start || from >= buckets.at(-1)!.end) return undefined
  const width = first.end - first.start
  const start = buckets[clamp(Math.round((from - first.start) / width), 0, buckets.length - 1)]!.start
  const end = buckets[clamp(Math.round((to - first.start) / width) - 1, 0, buckets.length - 1)]!.end
  return { from: start, to: Math.max(end, start + width) }
}

export function bucketAt(buckets: readonly Bucket[], seconds: number): Bucket | undefined {
  return buckets.find(({ start, end }) => seconds >= start && seconds < end)
}

/** The span with one of its ends moved by whole buckets; the ends never meet and never leave the chart. */
export function moved(buckets: readonly Bucket[], span: Span, end: 'from' | 'to', by: number): Span {
  const last = buckets.length - 1
  const first = clamp(
    buckets.findIndex(({ start }) => start >= span.from),
    0,
    last,
  )
  const final = clamp(
    buckets.findLastIndex(bucket => bucket.end <= span.to),
    first,
    last,
  )
  return end === 'from'
    ? { ...span, from: buckets[clamp(first + by, 0, final)]!.start }
    : { ...span, to: buckets[clamp(final + by, first, last)]!.end }
}

function clamp(value: number, least: number, most: number): number {
  return Math.min(Math.max(value, least), most)
}
