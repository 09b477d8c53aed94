/** When the items of a container die: a histogram with a brush, and the items that the brush covers. */

import { useState } from 'preact/hooks'
import { getForecast } from '../../api/calls.ts'
import { getBehind } from '../../api/container-calls.ts'
import type { Behind } from '../../api/container-shapes.ts'
import type { Container, Forecast } from '../../api/shapes.ts'
import { ChartTable } from '../../charts/chart-table.tsx'
import { Legend, type LegendEntry } from '../../charts/legend.tsx'
import { Stat, Stats } from '../../charts/stats.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { countedItems, itemsWord } from '../../containers/words.ts'
import { useRefresh } from '../../live/refresh.ts'
import { useWatch } from '../../live/use-watch.ts'
import { setParams } from '../../navigation/router.ts'
import { addressOf, type ContainerRoute } from '../../navigation/routes.ts'
import { count } from '../../text/number-text.ts'
import { eachSecond, itemNowMs } from '../../time/clock.ts'
import { dayText, durationText, fullTime, spanText, timeOfDay } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import type { ScreenProps } from '../screen-props.ts'
import { BrushedItems } from './brushed-items.tsx'
import { type Bucket, deathsIn, deathsWithin, nearest, type Span, type Zoom, zooms } from './buckets.ts'
import { ExpiryChart, type SeriesName } from './expiry-chart.tsx'
import './expiry.css'

interface Shown {
  zoom: Zoom
  forecast: Forecast
  /** The next hour by the minute, for the numbers on top. */
  hour: Forecast
  behind: Behind
  /** Dead items wait until they are removed; this is from the moment of the counts. */
  oldest: number | null
}

/** Deaths come every second in a busy container; the bars need not. */
const gapMs = 2_000

export function ExpiryScreen({ route, container }: ScreenProps) {
  const zoom = zooms.find(({ id }) => id === route.params.zoom) ?? zooms[1]!
  const [shown, setShown] = useState<Shown | undefined>()
  const [error, setError] = useState<unknown>()
  const [hidden, setHidden] = useState<ReadonlySet<SeriesName>>(new Set())
  const { database } = route
  useWatch(route)
  useRefresh(
    async signal => {
      try {
        setShown(await load(route, zoom, signal))
        setError(undefined)
      } catch (thrown) {
        if (signal.aborted) throw thrown
        setError(thrown)
      }
    },
    { gapMs, events: ['deaths', 'changes', 'counts'] },
    [database, route.container, zoom.id],
  )
  const buckets = shown?.forecast.buckets ?? []
  const asked = spanOf(route.params)
  const span = asked && nearest(buckets, asked)
  const covered = span && deathsIn(buckets, span)
  return (
    <div class={span ? 'expiry has-brush' : 'expiry'}>
      <Numbers shown={shown} container={container} />
      {error !== undefined && <Refusal error={error} />}
      <section aria-label="When items die">
        <div class="chart-head">
          <h2>When {container.api === 'mongo' ? 'documents' : 'items'} die</h2>
          <Legend entries={legendOf(container)} hidden={hidden} onChange={setHidden} />
          <span class="sp" />
          <Segments
            isBare
            label="How far ahead"
            value={zoom.id}
            options={zooms.map(({ id, label }) => ({ value: id, label }))}
            onChange={id => setParams({ zoom: id === '1h' ? undefined : id, from: undefined, to: undefined })}
          />
        </div>
        <div class="chart-box">{shown && <Chart shown={shown} span={span} hidden={hidden} api={container.api} />}</div>
        {shown && <Numbered shown={shown} />}
      </section>
      {shown && <Sentence route={route} shown={shown} span={span} container={container} />}
      {span && covered && (
        <BrushedItems
          name={{ database, container: route.container }}
          container={container}
          span={span}
          total={covered.inherited + covered.own}
        />
      )}
    </div>
  )
}

async function load(route: ContainerRoute, zoom: Zoom, signal: AbortSignal): Promise<Shown> {
  const isHour = zoom.id === '1h'
  const nothing: Behind = { buckets: [], waitingLonger: 0, oldest: null, isAbout: false }
  const [forecast, hour, behind] = await Promise.all([
    getForecast(route, zoom.window, zoom.buckets, signal),
    isHour ? undefined : getForecast(route, '1h', 60, signal),
    getBehind(route, zoom.behind?.window ?? '1m', zoom.behind?.buckets ?? 1, signal),
  ])
  const shownBehind = zoom.behind ? behind : { ...nothing, oldest: behind.oldest }
  return { zoom, forecast, hour: hour ?? forecast, behind: shownBehind, oldest: behind.oldest }
}

function spanOf({ from, to }: Readonly<Record<string, string>>): Span | undefined {
  const span = { from: Number(from), to: Number(to) }
  return Number.isSafeInteger(span.from) && Number.isSafeInteger(span.to) && span.to > span.from ? span : undefined
}

function legendOf({ defaultTtl, ttl }: Container): LegendEntry<SeriesName>[] {
  const inherited = defaultTtl !== null && defaultTtl > 0 ? `inherited ${spanText(defaultTtl)}` : 'inherited'
  return [
    { series: 'inherited', label: inherited, swatch: 'inherited' },
    { series: 'own', label: ttl.kind === 'date' ? 'by a date' : 'own ttl', swatch: 'own' },
    { series: 'removed', label: 'removed', swatch: 'removed' },
    { series: 'waiting', label: 'waiting to be removed', swatch: 'waiting' },
  ]
}

function Numbers({ shown, container }: { shown: Shown | undefined; container: Container }) {
  const hour = shown?.hour
  const about = (n: number | undefined, isAbout: boolean | undefined) =>
    n === undefined ? undefined : `${isAbout ? '~ ' : ''}${count(n)}`
  const within = hour && deathsWithin(hour.buckets, 3600)
  const oldest = shown?.oldest
  return (
    <Stats>
      <Stat label="Within 1 min" value={about(hour && deathsWithin(hour.buckets, 60), hour?.isAbout)} />
      <Stat label="Within 1 h" value={about(within, hour?.isAbout)} />
      <Stat label="Later" value={about(hour?.later, hour?.isAbout)} />
      <Stat label="Never" value={about(hour?.never, hour?.isAbout)} tone="never" />
      <Stat
        label="Dead but present"
        value={about(container.dead, container.isAbout)}
        tone={container.dead > 0 ? 'dead' : ''}
      />
      <Waited since={oldest} />
    </Stats>
  )
}

/** Grows by the second while the oldest dead item waits. */
export function Waited({ since }: { since: number | null | undefined }) {
  const seconds = since ? Math.max(0, Math.floor(eachSecond.value / 1000) - since) : 0
  return <Stat label="Oldest has waited" value={since ? durationText(seconds) : since === null ? '0 s' : undefined} />
}

/** What stands above and below the chart. */
const aroundPx = 420

interface ChartProps {
  shown: Shown
  span: Span | undefined
  hidden: ReadonlySet<SeriesName>
  api: Container['api']
}

function Chart({ shown: { zoom, forecast, behind }, span, hidden, api }: ChartProps) {
  const nowMs = eachSecond.value
  const isDays = zoom.id === '30d' || zoom.id === 'all'
  const exact = (seconds: number) => fullTime(seconds * 1000, nowMs, zone())
  const short = (seconds: number) => {
    const time = timeOfDay(seconds * 1000, zone())
    if (isDays) return dayText(seconds * 1000, nowMs, zone())
    return zoom.id === '1m' ? time : time.slice(0, 5)
  }
  const total = deathsIn(forecast.buckets, { from: 0, to: Number.MAX_SAFE_INTEGER })
  const isNarrow = matchMedia('(max-width: 620px)').matches
  return (
    <ExpiryChart
      height={isNarrow ? 280 : span ? 300 : Math.max(300, innerHeight - aroundPx)}
      ahead={forecast.buckets}
      behind={behind.buckets}
      now={Math.floor(nowMs / 1000)}
      hidden={hidden}
      span={span}
      onBrush={next => setParams({ from: next && String(next.from), to: next && String(next.to) })}
      timeText={short}
      exactTime={exact}
      label={`${countedItems(total.inherited + total.own, api)} die in the time that is shown: ${count(
        total.inherited,
      )} inherit their lifespan, ${count(total.own)} have their own.`}
    />
  )
}

function Numbered({ shown: { forecast, behind } }: { shown: Shown }) {
  const nowMs = itemNowMs()
  const from = (seconds: number) => fullTime(seconds * 1000, nowMs, zone())
  return (
    <ChartTable
      caption="Deaths by time"
      head={['from', 'to', 'inherited', 'own ttl', 'removed', 'waiting']}
      rows={() => [
        ...behind.buckets.map(each => [
          from(each.start),
          from(each.end),
          '',
          '',
          count(each.removed),
          count(each.waiting),
        ]),
        ...forecast.buckets.map(each => [
          from(each.start),
          from(each.end),
          count(each.inherited),
          count(each.own),
          '',
          '',
        ]),
      ]}
    />
  )
}

interface SentenceProps {
  route: ContainerRoute
  shown: Shown
  span: Span | undefined
  container: Container
}

function Sentence({ route, shown: { forecast }, span, container: { api, ttl } }: SentenceProps) {
  const nowMs = itemNowMs()
  if (!span) {
    const { inherited, own } = deathsIn(forecast.buckets, { from: 0, to: Number.MAX_SAFE_INTEGER })
    return (
      <div class="brushed">
        <p>
          {inherited + own === 0
            ? 'Nothing dies in the time that is shown.'
            : `Drag over the bars to see which ${itemsWord(api)} die then. A click takes one bar.`}
        </p>
      </div>
    )
  }
  const { inherited, own } = deathsIn(forecast.buckets, span)
  const time = (seconds: number) => fullTime(seconds * 1000, nowMs, zone())
  const params = { from: String(span.from), to: String(span.to) }
  return (
    <div class="brushed">
      <p>
        <b class="b t1">
          {forecast.isAbout && 'About '}
          {countedItems(inherited + own, api)} {inherited + own === 1 ? 'dies' : 'die'}{' '}
          {`between ${time(span.from)} and ${time(span.to)}.`}
        </b>{' '}
        {ttl.kind === 'date'
          ? 'A date in each of them says so.'
          : `${count(inherited)} inherit, ${count(own)} have their own ttl.`}
      </p>
      <button type="button" class="btn sm" onClick={() => setParams({ from: undefined, to: undefined })}>
        Clear
      </button>
      <a class="btn sm pri" href={addressOf({ ...route, screen: 'items', params })}>
        Show in {api === 'mongo' ? 'Documents' : 'Items'}
      </a>
    </div>
  )
}

export type { Bucket }
