/** The histogram: future deaths to the right of now, removed and waiting dead items to the left. */

import type { Behind } from '../../api/container-shapes.ts'
import { hatch } from '../../charts/palette.ts'
import { type Pen, Plot } from '../../charts/plot.tsx'
import { marksUpTo, timeMarks } from '../../charts/scale.ts'
import { shortCount } from '../../text/number-text.ts'
import { Brush } from './brush.tsx'
import type { Bucket, Span } from './buckets.ts'

export type SeriesName = 'inherited' | 'own' | 'removed' | 'waiting'

interface ExpiryChartProps {
  ahead: readonly Bucket[]
  behind: Behind['buckets']
  now: number
  hidden: ReadonlySet<SeriesName>
  span: Span | undefined
  onBrush: (span: Span | undefined) => void
  /** For the axis. */
  timeText: (seconds: number) => string
  /** For the line of now, the tips and the handles. */
  exactTime: (seconds: number) => string
  height: number
  label: string
}

/** How strong bars are that the brush leaves out. */
const dimmed = 0.36

export function ExpiryChart(props: ExpiryChartProps) {
  const { ahead, behind, now, hidden, span, onBrush, timeText, exactTime, height, label } = props
  const from = behind[0]?.start ?? ahead[0]?.start ?? now
  const to = ahead.at(-1)?.end ?? now + 60
  const isNarrow = matchMedia('(max-width: 620px)').matches
  const highest = Math.max(
    ...ahead.map(each => shown(each.inherited, 'inherited') + shown(each.own, 'own')),
    ...behind.map(each => shown(each.removed, 'removed') + shown(each.waiting, 'waiting')),
    0,
  )
  function shown(count: number, series: SeriesName): number {
    return hidden.has(series) ? 0 : count
  }
  const draw = (pen: Pen) => {
    const stripes = hatch(pen.context, pen.colours)
    for (const { start, end, removed, waiting } of behind) {
      const done = shown(removed, 'removed')
      bar(pen, { start, end, low: 0, high: done, fill: pen.colours.dead })
      bar(pen, { start, end, low: done, high: done + shown(waiting, 'waiting'), fill: stripes, edge: pen.colours.dead })
    }
    for (const { start, end, inherited, own } of ahead) {
      const low = shown(inherited, 'inherited')
      const high = low + shown(own, 'own')
      // What has died since the bars were counted waits to be removed.
      if (end <= now) {
        bar(pen, { start, end, low: 0, high, fill: stripes, edge: pen.colours.dead })
        continue
      }
      const isOut = span && (start < span.from || end > span.to)
      pen.context.globalAlpha = isOut ? dimmed : 1
      bar(pen, { start, end, low: 0, high: low, fill: pen.colours.inherited })
      bar(pen, { start, end, low, high, fill: pen.colours.own })
      pen.context.globalAlpha = 1
    }
    nowLine(pen, now, `now ${exactTime(now)}`)
    if (behind.length > 0 && !isNarrow) note(pen, 'behind: removed and waiting')
  }
  return (
    <Plot
      height={height}
      topRoom={26}
      from={from}
      to={to}
      marks={marksUpTo(highest, 3)}
      times={timeMarks(from, to, { anchor: ahead[0]?.start ?? now, marksMax: isNarrow ? 4 : 6 })}
      timeText={timeText}
      markText={shortCount}
      draw={draw}
      label={label}
    >
      {places => (
        <Brush
          places={places}
          buckets={ahead.filter(({ end }) => end > now)}
          span={span}
          onChange={onBrush}
          timeText={exactTime}
        />
      )}
    </Plot>
  )
}

interface Bar {
  start: number
  end: number
  low: number
  high: number
  fill: string | CanvasPattern
  edge?: string
}

function bar(pen: Pen, { start, end, low, high, fill, edge }: Bar): void {
  if (high <= low) return
  const { context, ratio } = pen
  // A gap of a pixel, unless the bars are that thin themselves.
  const full = pen.x(end) - pen.x(start)
  const gap = full > 4 * ratio ? ratio : 0
  const left = Math.round(pen.x(start) + gap / 2)
  const width = Math.max(1, Math.round(pen.x(end) - gap / 2) - left)
  const top = Math.round(pen.y(high))
  const height = Math.max(ratio, Math.round(pen.y(low)) - top - (low > 0 ? ratio : 0))
  context.fillStyle = fill
  context.fillRect(left, top, width, height)
  if (!edge || width < 6 * ratio) return
  context.strokeStyle = edge
  context.lineWidth = ratio
  context.strokeRect(left + ratio / 2, top + ratio / 2, width - ratio, Math.max(0, height - ratio))
}

function nowLine({ context, colours, x, area, ratio }: Pen, now: number, text: string): void {
  const at = Math.round(x(now))
  context.fillStyle = colours.text
  context.fillRect(at - ratio, area.top - 12 * ratio, 2 * ratio, area.bottom - area.top + 18 * ratio)
  context.font = `600 ${11 * ratio}px ${colours.font}`
  context.textBaseline = 'alphabetic'
  const isLate = at > area.right - 120 * ratio
  context.textAlign = isLate ? 'right' : 'left'
  context.fillText(text, at + (isLate ? -6 : 6) * ratio, area.top - 5 * ratio)
}

function note({ context, colours, area, ratio }: Pen, text: string): void {
  context.fillStyle = colours.quiet
  context.font = `500 ${11 * ratio}px ${colours.font}`
  context.textAlign = 'left'
  context.fillText(text, area.left, area.top - 5 * ratio)
}
