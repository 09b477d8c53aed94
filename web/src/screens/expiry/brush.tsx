/**
 * The brush of the expiry chart: drag over the bars, or move one of its two handles with the arrows. A click
 * on a bar takes that bar, a double click clears.
 */

import { useRef, useState } from 'preact/hooks'
import type { Places } from '../../charts/plot.tsx'
import { type Bucket, bucketAt, moved, type Span, snapped } from './buckets.ts'

interface BrushProps {
  places: Places
  buckets: readonly Bucket[]
  span: Span | undefined
  onChange: (span: Span | undefined) => void
  timeText: (seconds: number) => string
}

/** A hand that clicks moves the pointer a little. */
const clickPx = 4

export function Brush({ places, buckets, span, onChange, timeText }: BrushProps) {
  const root = useRef<HTMLDivElement>(null)
  const dragged = useRef<{ x: number; from: number; isMoved: boolean } | undefined>(undefined)
  const [hovered, setHovered] = useState<Bucket | undefined>()
  if (buckets.length === 0) return null
  const secondsAt = (event: PointerEvent) => {
    const { left } = root.current!.getBoundingClientRect()
    return places.seconds(event.clientX - left)
  }
  const onPointerDown = (event: PointerEvent) => {
    if (event.button !== 0 || (event.target as Element).closest('[role=slider]')) return
    root.current!.setPointerCapture(event.pointerId)
    dragged.current = { x: event.clientX, from: secondsAt(event), isMoved: false }
  }
  const onPointerMove = (event: PointerEvent) => {
    const drag = dragged.current
    setHovered(drag ? undefined : bucketAt(buckets, secondsAt(event)))
    if (!drag || (!drag.isMoved && Math.abs(event.clientX - drag.x) < clickPx)) return
    drag.isMoved = true
    const to = secondsAt(event)
    onChange(snapped(buckets, { from: Math.min(drag.from, to), to: Math.max(drag.from, to) }))
  }
  const onPointerUp = (event: PointerEvent) => {
    const drag = dragged.current
    dragged.current = undefined
    if (!drag || drag.isMoved) return
    const bucket = bucketAt(buckets, secondsAt(event))
    onChange(bucket && { from: bucket.start, to: bucket.end })
  }
  return (
    // The handles do the same for the keyboard.
    // biome-ignore lint/a11y/noStaticElementInteractions: see above.
    <div
      ref={root}
      class="brush"
      onPointerDown={onPointerDown}
      onPointerMove={onPointerMove}
      onPointerUp={onPointerUp}
      onPointerLeave={() => setHovered(undefined)}
      onDblClick={() => onChange(undefined)}
    >
      {span && <BrushSpan places={places} buckets={buckets} span={span} onChange={onChange} timeText={timeText} />}
      {hovered && <BarTip places={places} bucket={hovered} timeText={timeText} />}
    </div>
  )
}

type SpanProps = BrushProps & { span: Span }

function BrushSpan({ places, buckets, span, onChange, timeText }: SpanProps) {
  const left = Math.max(0, places.x(span.from))
  const right = Math.min(places.width, places.x(span.to))
  const handle = (end: 'from' | 'to', label: string) => (
    <span
      class="brush-handle"
      role="slider"
      tabIndex={0}
      aria-label={label}
      aria-valuemin={buckets[0]!.start}
      aria-valuemax={buckets.at(-1)!.end}
      aria-valuenow={span[end]}
      aria-valuetext={timeText(span[end])}
      style={{ left: `${end === 'from' ? left : right}px` }}
      onKeyDown={event => {
        const step = { ArrowLeft: -1, ArrowRight: 1, ArrowDown: -1, ArrowUp: 1, Home: -9999, End: 9999 }[event.key]
        if (event.key === 'Escape') onChange(undefined)
        else if (step) onChange(moved(buckets, span, end, event.shiftKey ? step * 5 : step))
        else return
        event.preventDefault()
        event.stopPropagation()
      }}
      onPointerDown={event => dragHandle(event, places, x => onChange(dragTo(buckets, span, end, x)))}
    >
      <i />
    </span>
  )
  return (
    <>
      <span class="brush-span" style={{ left: `${left}px`, width: `${Math.max(0, right - left)}px` }} />
      {handle('from', 'Begin of the part that is shown')}
      {handle('to', 'End of the part that is shown')}
    </>
  )
}

function dragTo(buckets: readonly Bucket[], span: Span, end: 'from' | 'to', seconds: number): Span {
  const width = buckets[0]!.end - buckets[0]!.start
  const target =
    end === 'from'
      ? { from: Math.min(seconds, span.to - width), to: span.to }
      : { from: span.from, to: Math.max(seconds, span.from + width) }
  return snapped(buckets, target) ?? span
}

function dragHandle(event: PointerEvent, places: Places, move: (seconds: number) => void): void {
  const handle = event.currentTarget as HTMLElement
  const { left } = handle.parentElement!.getBoundingClientRect()
  event.preventDefault()
  handle.focus()
  handle.setPointerCapture(event.pointerId)
  const onMove = (next: PointerEvent) => move(places.seconds(next.clientX - left))
  const onEnd = () => {
    handle.removeEventListener('pointermove', onMove)
    handle.removeEventListener('pointerup', onEnd)
    handle.removeEventListener('pointercancel', onEnd)
  }
  handle.addEventListener('pointermove', onMove)
  handle.addEventListener('pointerup', onEnd)
  handle.addEventListener('pointercancel', onEnd)
}

function BarTip({ places, bucket, timeText }: Pick<BrushProps, 'places' | 'timeText'> & { bucket: Bucket }) {
  const middle = places.x((bucket.start + bucket.end) / 2)
  const isLeft = middle > places.width / 2
  return (
    <span
      class="chart-tip"
      style={isLeft ? { right: `${places.width - middle + 12}px` } : { left: `${middle + 12}px` }}
      aria-hidden="true"
    >
      <b>
        {timeText(bucket.start)} to {timeText(bucket.end)}
      </b>
      <span>
        inherited <b>{bucket.inherited.toLocaleString('en-US')}</b>
      </span>
      <span>
        own ttl <b>{bucket.own.toLocaleString('en-US')}</b>
      </span>
    </span>
  )
}
