/**
 * A chart: uPlot with the page's axes and colours. The caller draws; uPlot keeps scales, sizes and cursor.
 */

import { useSignalEffect } from '@preact/signals'
import type { ComponentChildren } from 'preact'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import './plot.css'
import { type Palette, palette, paletteVersion } from './palette.ts'

/** What a caller draws with: canvas pixels. */
export interface Pen {
  readonly context: CanvasRenderingContext2D
  readonly colours: Palette
  /** The place of a value, in canvas pixels. */
  x(seconds: number): number
  y(value: number): number
  readonly area: { left: number; top: number; right: number; bottom: number }
  /** Canvas pixels of one CSS pixel. */
  readonly ratio: number
}

/** The place of values in CSS pixels from the left edge of the drawing, for what lies above it. */
export interface Places {
  readonly width: number
  readonly height: number
  x(seconds: number): number
  seconds(x: number): number
}

export interface PlotProps {
  readonly height: number
  readonly from: number
  readonly to: number
  /** Marks of the upright axis; the last one is the top. */
  readonly marks: readonly number[]
  readonly times: readonly number[]
  readonly timeText: (seconds: number) => string
  readonly markText: (value: number) => string
  readonly draw: (pen: Pen) => void
  /** Room above the drawing, in CSS pixels. */
  readonly topRoom?: number
  /** What the chart shows, in one sentence. */
  readonly label: string
  /** Lies above the drawing, with its places. */
  readonly children?: (places: Places) => ComponentChildren
}

const axisWidth = 44
/** Half of the last time below the axis. */
const rightRoom = 20

export function Plot(props: PlotProps) {
  const { height, from, to, marks, times, label, children, topRoom = 12 } = props
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | undefined>(undefined)
  /** uPlot calls back at any time; then the newest props count. */
  const latest = useRef(props)
  latest.current = props
  const [places, setPlaces] = useState<Places | undefined>(undefined)

  useLayoutEffect(() => {
    let known = ''
    // uPlot lays itself out some time after a change. What lies above it follows when it draws.
    const follow = (drawn: uPlot) => {
      const { min, max } = drawn.scales.x!
      const place = [drawn.bbox.width, drawn.bbox.height, min, max].join()
      if (place === known) return
      known = place
      setPlaces(placesOf(drawn))
    }
    const made = new uPlot(options(latest, box.current!.clientWidth, follow), data(latest.current), box.current!)
    plot.current = made
    const observer = new ResizeObserver(([entry]) => {
      const width = Math.floor(entry!.contentRect.width)
      if (width > 0 && width !== made.width) made.setSize({ width, height: latest.current.height })
    })
    observer.observe(box.current!)
    return () => {
      observer.disconnect()
      made.destroy()
      plot.current = undefined
    }
  }, [height, topRoom])

  useEffect(() => plot.current?.setData(data(props)), [from, to, marks.at(-1), times.length])
  // What is drawn may differ each time, and drawing is cheap.
  useEffect(() => plot.current?.redraw(false))
  useSignalEffect(() => {
    paletteVersion.value
    plot.current?.redraw()
  })

  return (
    <div class="plot" style={{ height: `${height}px` }}>
      <div ref={box} role="img" aria-label={label} />
      {places && (
        <div
          class="plot-over"
          style={{
            left: `${axisWidth}px`,
            top: `${topRoom}px`,
            width: `${places.width}px`,
            height: `${places.height}px`,
          }}
        >
          {children?.(places)}
        </div>
      )}
    </div>
  )
}

function placesOf(plot: uPlot): Places {
  return {
    width: plot.over.clientWidth,
    height: plot.over.clientHeight,
    x: seconds => plot.valToPos(seconds, 'x'),
    seconds: x => plot.posToVal(x, 'x'),
  }
}

/** uPlot wants data to find its scales; two points are enough. */
function data({ from, to, marks }: PlotProps): uPlot.AlignedData {
  return [
    [from, to],
    [0, marks.at(-1)!],
  ]
}

function options(latest: { current: PlotProps }, width: number, onDraw: (plot: uPlot) => void): uPlot.Options {
  const { height, topRoom = 12 } = latest.current
  const font = () => `500 11px ${palette().font}`
  return {
    width: Math.max(width, 100),
    height,
    padding: [topRoom, rightRoom, 0, 0],
    legend: { show: false },
    cursor: { show: false },
    scales: {
      x: { time: false, range: () => [latest.current.from, latest.current.to] },
      y: { range: () => [0, latest.current.marks.at(-1)!] },
    },
    series: [{}, { paths: () => null, points: { show: false } }],
    axes: [
      {
        size: 24,
        gap: 6,
        font: font(),
        stroke: () => palette().quiet,
        grid: { show: false },
        ticks: { show: false },
        splits: () => [...latest.current.times],
        values: (_plot, splits) => splits.map(each => latest.current.timeText(each)),
      },
      {
        size: axisWidth,
        gap: 8,
        font: font(),
        stroke: () => palette().quiet,
        grid: { stroke: () => palette().line, width: 1 },
        ticks: { show: false },
        splits: () => [...latest.current.marks],
        values: (_plot, splits) => splits.map(each => latest.current.markText(each)),
      },
    ],
    hooks: {
      draw: [
        plot => {
          // uPlot remembers the styles that it has set, and must find them again.
          plot.ctx.save()
          latest.current.draw(penOf(plot))
          plot.ctx.restore()
        },
        onDraw,
      ],
    },
  }
}

function penOf(plot: uPlot): Pen {
  const { left, top, width, height } = plot.bbox
  return {
    context: plot.ctx,
    colours: palette(),
    x: seconds => plot.valToPos(seconds, 'x', true),
    y: value => plot.valToPos(value, 'y', true),
    area: { left, top, right: left + width, bottom: top + height },
    ratio: devicePixelRatio,
  }
}
