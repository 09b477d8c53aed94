/** The dock below the grid: deaths in the next hour, and the RU of requests and purge now. */

import { useSignal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import { getForecast, getLoad } from '../../api/calls.ts'
import { isAborted } from '../../api/client.ts'
import type { ContainerName, Forecast } from '../../api/shapes.ts'
import { onLive, reconnections } from '../../live/connection.ts'
import { count, ruText } from '../../text/number-text.ts'
import { itemNowMs, jumps } from '../../time/clock.ts'
import { timeOfDay } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'

const minutes = 60
const historySeconds = 120
const chartWidth = 360
const chartHeight = 52
/** The picture moves by one bar each minute. */
const refreshMs = 60_000

interface WorkSeconds {
  provisionedRu: number | null
  requestRu: number[]
  purgeRu: number[]
}

export function Dock({ name, inheritedNow }: { name: ContainerName; inheritedNow: number }) {
  const forecast = useSignal<Forecast | undefined>(undefined)
  const work = useSignal<WorkSeconds | undefined>(undefined)
  useEffect(() => {
    const abort = new AbortController()
    const ask = () => {
      if (document.hidden) return
      getForecast(name, '1h', minutes, abort.signal).then(
        answer => {
          forecast.value = answer
        },
        error => {
          if (!isAborted(error)) forecast.value = undefined
        },
      )
    }
    ask()
    const timer = setInterval(ask, refreshMs)
    return () => {
      clearInterval(timer)
      abort.abort()
    }
  }, [name.database, name.container, jumps.value, inheritedNow])
  useEffect(() => {
    const abort = new AbortController()
    getLoad(name, historySeconds, abort.signal).then(
      ({ provisionedRu, requestRu, purgeRu }) => {
        work.value = { provisionedRu, requestRu, purgeRu }
      },
      () => {},
    )
    const stop = onLive('load', ({ requestRu, purgeRu }) => {
      const before = work.peek()
      if (!before) return
      const last = <T,>(all: T[], next: T) => [...all, next].slice(-historySeconds)
      work.value = { ...before, requestRu: last(before.requestRu, requestRu), purgeRu: last(before.purgeRu, purgeRu) }
    })
    return () => {
      stop()
      abort.abort()
    }
  }, [name.database, name.container, reconnections.value])
  return (
    <div class="dock hide-m">
      <div>{forecast.value && <NextHour forecast={forecast.value} />}</div>
      <div>{work.value && <WorkNow work={work.value} />}</div>
    </div>
  )
}

function NextHour({ forecast }: { forecast: Forecast }) {
  const { buckets } = forecast
  const total = buckets.reduce((sum, { inherited, own }) => sum + inherited + own, 0)
  const most = Math.max(1, ...buckets.map(({ inherited, own }) => inherited + own))
  const width = chartWidth / Math.max(1, buckets.length)
  const start = (buckets[0]?.start ?? Math.floor(itemNowMs() / 1000)) * 1000
  const label = `${forecast.isAbout ? 'About ' : ''}${count(total)} items die in the next 60 minutes.`
  return (
    <>
      <h3>
        Dying in the next 60 min{' '}
        <b>
          {forecast.isAbout && 'about '}
          {count(total)}
        </b>
        <span class="sp" />
        <span class="legend">
          <span>
            <i class="sw sw-inherited" /> inherited
          </span>
          <span>
            <i class="sw sw-own" /> own ttl
          </span>
        </span>
      </h3>
      <svg
        class="chart"
        viewBox={`0 0 ${chartWidth} ${chartHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={label}
      >
        {buckets.map(({ start: from, inherited, own }, index) => {
          const below = (inherited / most) * chartHeight
          const above = (own / most) * chartHeight
          return (
            <g key={from}>
              <rect class="f-inh" x={index * width} y={chartHeight - below} width={width * 0.82} height={below} />
              <rect
                class="f-own"
                x={index * width}
                y={chartHeight - below - above}
                width={width * 0.82}
                height={above}
              />
            </g>
          )
        })}
        <path class="ax" d={`M0 ${chartHeight}H${chartWidth}`} />
      </svg>
      <div class="axis">
        <span>now</span>
        {[15, 30, 45, 60].map(minute => (
          <span key={minute}>{timeOfDay(start + minute * 60_000, zone()).slice(0, 5)}</span>
        ))}
      </div>
    </>
  )
}

/** An area from the numbers of one series, on top of another. */
function area(values: readonly number[], below: readonly number[], most: number): string {
  const step = chartWidth / (historySeconds - 1)
  const from = historySeconds - values.length
  const y = (value: number) => chartHeight - (value / most) * chartHeight
  const x = (index: number) => (from + index) * step
  const top = values.map((value, index) => `${x(index).toFixed(1)} ${y(value + (below[index] ?? 0)).toFixed(1)}`)
  const bottom = values.map((_, index) => `${x(index).toFixed(1)} ${y(below[index] ?? 0).toFixed(1)}`).toReversed()
  return `M${[...top, ...bottom].join('L')}Z`
}

function WorkNow({ work }: { work: WorkSeconds }) {
  const { provisionedRu, requestRu, purgeRu } = work
  const sums = requestRu.map((ru, index) => ru + (purgeRu[index] ?? 0))
  const most = Math.max(1, provisionedRu ?? 0, ...sums)
  const now = `${ruText(requestRu.at(-1) ?? 0)} RU/s for requests, ${ruText(purgeRu.at(-1) ?? 0)} RU/s for the purge.`
  return (
    <>
      <h3>
        RU/s <b>{provisionedRu === null ? ruText(sums.at(-1) ?? 0) : `of ${count(provisionedRu)}`}</b>
        <span class="sp" />
        <span class="legend">
          <span>
            <i class="sw sw-requests" /> requests
          </span>
          <span>
            <i class="sw hatch" /> purge
          </span>
        </span>
      </h3>
      <svg
        class="chart"
        viewBox={`0 0 ${chartWidth} ${chartHeight}`}
        preserveAspectRatio="none"
        role="img"
        aria-label={now}
      >
        <defs>
          <pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
            <rect width="5" height="5" class="hatch-ground" />
            <rect width="1.8" height="5" class="hatch-line" />
          </pattern>
        </defs>
        {requestRu.length > 0 && (
          <>
            <path class="f-req" d={area(requestRu, [], most)} />
            <path class="f-purge" d={area(purgeRu, requestRu, most)} />
          </>
        )}
        {provisionedRu !== null && (
          <path
            class="limit"
            d={`M0 ${chartHeight - (provisionedRu / most) * chartHeight}H${chartWidth}`}
            vector-effect="non-scaling-stroke"
          />
        )}
      </svg>
      <div class="axis">
        <span>2 min ago</span>
        <span>now</span>
      </div>
    </>
  )
}
