/** RU per second: requests from the ground up, the purge on top of them, 429s above. */

import { useState } from 'preact/hooks'
import type { LoadHistory } from '../../api/shapes.ts'
import { hatch } from '../../charts/palette.ts'
import { type Pen, type Places, Plot } from '../../charts/plot.tsx'
import { marksUpTo, timeMarks } from '../../charts/scale.ts'
import { count, ruText, shortCount } from '../../text/number-text.ts'

export type LoadSeries = 'requests' | 'purge' | 'throttled'

interface LoadChartProps {
  history: LoadHistory
  seconds: number
  hidden: ReadonlySet<LoadSeries>
  height: number
  timeText: (second: number) => string
  label: string
}

/** A provisioned throughput far above the load would press the load to the ground. */
const roomMax = 4

export function LoadChart({ history, seconds, hidden, height, timeText, label }: LoadChartProps) {
  const { endSecond, stepSeconds, requestRu, purgeRu, throttled, provisionedRu, isEnforced } = history
  const perSecond = (values: readonly number[], series: LoadSeries) =>
    values.map(value => (hidden.has(series) ? 0 : value / stepSeconds))
  const requests = perSecond(requestRu, 'requests')
  const purge = perSecond(purgeRu, 'purge')
  const highest = Math.max(10, ...requests.map((ru, index) => ru + purge[index]!))
  const line = provisionedRu !== null && (isEnforced || provisionedRu <= highest * roomMax) ? provisionedRu : undefined
  const startOf = (index: number) => endSecond + 1 - (requests.length - index) * stepSeconds
  const isNarrow = matchMedia('(max-width: 620px)').matches
  const draw = (pen: Pen) => {
    area(
      pen,
      requests,
      requests.map(() => 0),
      startOf,
      stepSeconds,
      pen.colours.requests,
    )
    const tops = requests.map((ru, index) => ru + purge[index]!)
    area(pen, tops, requests, startOf, stepSeconds, hatch(pen.context, pen.colours), pen.colours.dead)
    if (line !== undefined) provisioned(pen, line, isEnforced)
    if (!hidden.has('throttled')) refusals(pen, throttled, startOf, stepSeconds)
  }
  return (
    <Plot
      height={height}
      topRoom={44}
      from={endSecond + 1 - seconds}
      to={endSecond + 1}
      marks={marksUpTo(Math.max(highest, line ?? 0), 4)}
      times={timeMarks(endSecond + 1 - seconds, endSecond + 1, { anchor: 0, marksMax: isNarrow ? 3 : 5 })}
      timeText={timeText}
      markText={shortCount}
      draw={draw}
      label={label}
    >
      {places => <Reading places={places} history={history} startOf={startOf} timeText={timeText} />}
    </Plot>
  )
}

/** A stepped area between two rows of values. */
function area(
  pen: Pen,
  tops: readonly number[],
  bottoms: readonly number[],
  startOf: (index: number) => number,
  step: number,
  fill: string | CanvasPattern,
  edge?: string,
): void {
  const { context } = pen
  context.save()
  context.beginPath()
  context.rect(pen.area.left, 0, pen.area.right - pen.area.left, pen.area.bottom)
  context.clip()
  context.beginPath()
  for (const [index, top] of tops.entries()) {
    const left = pen.x(startOf(index))
    const y = pen.y(top)
    if (index === 0) context.moveTo(left, y)
    else context.lineTo(left, y)
    context.lineTo(pen.x(startOf(index) + step), y)
  }
  for (const [index, bottom] of [...bottoms.entries()].reverse()) {
    const y = pen.y(bottom)
    context.lineTo(pen.x(startOf(index) + step), y)
    context.lineTo(pen.x(startOf(index)), y)
  }
  context.closePath()
  context.fillStyle = fill
  context.fill()
  if (edge && tops.some((top, index) => top > bottoms[index]!)) {
    context.strokeStyle = edge
    context.lineWidth = pen.ratio * 0.75
    context.stroke()
  }
  context.restore()
}

function provisioned(pen: Pen, ru: number, isEnforced: boolean): void {
  const { context, area: box, colours, ratio } = pen
  const y = Math.round(pen.y(ru)) + 0.5
  context.save()
  context.strokeStyle = colours.text
  context.lineWidth = 1.5 * ratio
  context.setLineDash([5 * ratio, 4 * ratio])
  context.beginPath()
  context.moveTo(box.left, y)
  context.lineTo(box.right, y)
  context.stroke()
  context.restore()
  context.fillStyle = colours.text
  context.font = `600 ${11 * ratio}px ${colours.font}`
  context.textAlign = 'right'
  context.textBaseline = 'alphabetic'
  context.fillText(`provisioned ${count(ru)} RU/s${isEnforced ? '' : ', not enforced'}`, box.right, y - 6 * ratio)
}

/** A red mark above each second in which somebody was refused. */
function refusals(pen: Pen, throttled: readonly number[], startOf: (index: number) => number, step: number): void {
  const { context, colours, ratio, area: box } = pen
  const top = 8 * ratio
  const height = 10 * ratio
  context.fillStyle = colours.danger
  let last: number | undefined
  let total = 0
  for (const [index, refused] of throttled.entries()) {
    if (refused === 0) continue
    const left = Math.max(box.left, pen.x(startOf(index)))
    const right = pen.x(startOf(index) + step)
    if (right < box.left) continue
    context.fillRect(Math.round(left), top, Math.max(1.5 * ratio, right - left - 1.5 * ratio), height)
    last = right
    total += refused
  }
  if (last === undefined) return
  const text = `429s: ${count(total)}`
  context.font = `600 ${11 * ratio}px ${colours.font}`
  context.textBaseline = 'middle'
  const fits = last + 8 * ratio + context.measureText(text).width < box.right
  context.textAlign = fits ? 'left' : 'right'
  if (fits) context.fillText(text, last + 8 * ratio, top + height / 2)
  else context.fillText(text, box.right, top + height + 8 * ratio)
}

interface ReadingProps {
  places: Places
  history: LoadHistory
  startOf: (index: number) => number
  timeText: (second: number) => string
}

/** The numbers under the pointer. */
function Reading({ places, history, startOf, timeText }: ReadingProps) {
  const [at, setAt] = useState<number | undefined>()
  const { requestRu, purgeRu, throttled, stepSeconds } = history
  const index = at === undefined ? -1 : Math.floor((at - startOf(0)) / stepSeconds)
  const isKnown = index >= 0 && index < requestRu.length
  const x = isKnown ? places.x(startOf(index) + stepSeconds / 2) : 0
  const side = x > places.width / 2 ? { right: `${places.width - x + 12}px` } : { left: `${x + 12}px` }
  return (
    // The table has the same numbers for the keyboard.
    <div
      class="reading"
      onPointerMove={event => setAt(places.seconds(event.clientX - event.currentTarget.getBoundingClientRect().left))}
      onPointerLeave={() => setAt(undefined)}
    >
      {isKnown && (
        <>
          <i class="chart-line" style={{ left: `${x}px` }} />
          <span class="chart-tip" style={side} aria-hidden="true">
            <b>{timeText(startOf(index))}</b>
            <span>
              requests <b>{ruText(requestRu[index]! / stepSeconds)} RU</b>
            </span>
            <span>
              purge <b>{ruText(purgeRu[index]! / stepSeconds)} RU</b>
            </span>
            {throttled[index]! > 0 && (
              <span>
                429s <b>{count(throttled[index]!)}</b>
              </span>
            )}
          </span>
        </>
      )}
    </div>
  )
}
