/** The RU of requests, the RU that the purge takes of the rest, and the dead items that wait for it. */

import type { ComponentChildren } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { pausePurge, purgeNow } from '../../api/calls.ts'
import { getLoadHistory } from '../../api/container-calls.ts'
import type { Api, ContainerName, ContainerWork, LoadHistory } from '../../api/shapes.ts'
import { ChartTable } from '../../charts/chart-table.tsx'
import { Legend, Swatch } from '../../charts/legend.tsx'
import { Sparkline } from '../../charts/sparkline.tsx'
import { Stat, Stats } from '../../charts/stats.tsx'
import { announce } from '../../components/announce.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { showToast } from '../../components/toasts.tsx'
import { countedItems, throughputText } from '../../containers/words.ts'
import { onLive } from '../../live/connection.ts'
import { useRefresh } from '../../live/refresh.ts'
import { databases, isPurgePaused, mayWrite } from '../../live/server-state.ts'
import { useWatch } from '../../live/use-watch.ts'
import { setParams } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count, ruText } from '../../text/number-text.ts'
import { durationText, timeOfDay } from '../../time/time-text.ts'
import type { ScreenProps } from '../screen-props.ts'
import { filled, historySecondsMax, lastSeconds, purgeStory, sum, withSecond } from './history.ts'
import { LoadChart, type LoadSeries } from './load-chart.tsx'
import './load.css'

const ranges = [
  { id: '2m', label: '2 min', seconds: 120, ago: '2 min ago' },
  { id: '15m', label: '15 min', seconds: 900, ago: '15 min ago' },
  { id: '1h', label: '1 h', seconds: historySecondsMax, ago: '1 h ago' },
] as const

/** Load is about the machine: its time is shown, also on the manual clock. */
const timeText = (second: number) => timeOfDay(second * 1000, 'local')

export function LoadScreen({ route, container }: ScreenProps) {
  const { database, container: id } = route
  useWatch(route)
  return (
    <div class="load">
      <Load key={`${database}/${id}`} name={{ database, container: id }} params={route.params} api={container.api}>
        <a class="btn" href={addressOf({ ...route, screen: 'settings', params: { part: 'throughput' } })}>
          Change throughput
        </a>
      </Load>
    </div>
  )
}

/** Of all containers together. */
export function ServerLoadScreen({ params }: { params: Params }) {
  return (
    <section class="screen on load" aria-label="Load of the whole server">
      <h1 class="load-title">Load of the whole server</h1>
      <Load name={undefined} params={params} api="nosql" />
      <ByContainer />
    </section>
  )
}

type Params = Readonly<Record<string, string>>

interface LoadProps {
  /** Undefined: the whole server. */
  name: ContainerName | undefined
  params: Params
  api: Api
  /** Beside the buttons over the chart. */
  children?: ComponentChildren
}

function Load({ name, params, api, children }: LoadProps) {
  const range = ranges.find(({ id }) => id === params.range) ?? ranges[0]
  const [history, setHistory] = useState<LoadHistory | undefined>()
  const [error, setError] = useState<unknown>()
  const [hidden, setHidden] = useState<ReadonlySet<LoadSeries>>(new Set())
  useRefresh(
    async signal => {
      try {
        setHistory(await getLoadHistory(name, historySecondsMax, signal))
        setError(undefined)
      } catch (thrown) {
        if (signal.aborted) throw thrown
        setError(thrown)
      }
    },
    { gapMs: 1000, events: ['purge'] },
    [],
  )
  useEffect(() => onLive(name ? 'load' : 'totals', work => setHistory(old => old && appended(old, work))), [])
  if (error !== undefined) return <Refusal error={error} />
  if (!history) return <div aria-busy="true" />
  const seen = lastSeconds(history, range.seconds)
  return (
    <>
      <Numbers history={seen} range={range.label} />
      <section aria-label="RU per second">
        <div class="chart-head">
          <h2>RU per second</h2>
          <Legend
            entries={[
              { series: 'requests', label: 'requests', swatch: 'requests' },
              { series: 'purge', label: 'purge, from what is left over', swatch: 'purge' },
              { series: 'throttled', label: '429', swatch: 'throttled' },
            ]}
            hidden={hidden}
            onChange={setHidden}
          />
          <span class="sp" />
          <Segments
            isBare
            label="How far back"
            value={range.id}
            options={ranges.map(({ id, label }) => ({ value: id, label }))}
            onChange={id => setParams({ range: id === '2m' ? undefined : id })}
          />
          <PauseButton />
          {children}
        </div>
        <div class="chart-box">
          <LoadChart
            history={seen}
            seconds={range.seconds}
            hidden={hidden}
            height={matchMedia('(max-width: 620px)').matches ? 300 : 320}
            timeText={timeText}
            label={sentenceOf(seen, range.label)}
          />
        </div>
        <Story history={seen} name={name} />
        <Numbered history={seen} />
      </section>
      <Small history={seen} ago={range.ago} api={api} />
    </>
  )
}

function appended(history: LoadHistory, work: ContainerWork): LoadHistory {
  const { dead, lagSeconds, oldest } = work
  return { ...withSecond(history, work), now: { ...history.now, dead, lagSeconds, oldest } }
}

function sentenceOf({ requestRu, purgeRu, throttled }: LoadHistory, range: string): string {
  const taken = `requests took ${ruText(sum(requestRu))} RU, the purge ${ruText(sum(purgeRu))} RU`
  return `In the last ${range}: ${taken}, ${count(sum(throttled))} requests were refused with 429.`
}

function Numbers({ history, range }: { history: LoadHistory; range: string }) {
  const { requestRu, purgeRu, throttled, provisionedRu, stepSeconds, now, isEnforced } = history
  const requests = (requestRu.at(-1) ?? 0) / stepSeconds
  const purge = (purgeRu.at(-1) ?? 0) / stepSeconds
  const refused = sum(throttled)
  const left = provisionedRu === null ? undefined : Math.max(0, provisionedRu - requests - purge)
  return (
    <Stats>
      <Stat
        label={
          <>
            <Swatch kind="requests" /> Requests
          </>
        }
        value={ruText(requests)}
        unit="RU/s"
      />
      <Stat
        label={
          <>
            <Swatch kind="purge" /> Purge
          </>
        }
        value={ruText(purge)}
        unit="RU/s"
      />
      {left !== undefined && isEnforced && <Stat label="Left over" value={ruText(left)} unit="RU/s" />}
      <Stat label={`429s in ${range}`} value={count(refused)} tone={refused > 0 ? 'danger' : ''} />
      <Stat label="Dead but present" value={count(now.dead)} tone={now.dead > 0 ? 'dead' : ''} />
      {now.lagSeconds !== null && <Stat label="Oldest has waited" value={durationText(now.lagSeconds)} />}
    </Stats>
  )
}

function PauseButton() {
  const isPaused = isPurgePaused.value
  const [isSending, setSending] = useState(false)
  const change = async () => {
    setSending(true)
    try {
      const { paused } = await pausePurge(!isPaused)
      isPurgePaused.value = paused
      announce(paused ? 'The purge is paused.' : 'The purge goes on.')
    } catch (error) {
      showToast({ kind: 'failed', title: error instanceof Error ? error.message : String(error) })
    }
    setSending(false)
  }
  return (
    <button
      type="button"
      class="btn"
      disabled={isSending || !mayWrite.value}
      title={mayWrite.value ? 'Applies to the whole server' : 'This key may only read'}
      onClick={change}
    >
      <Icon name={isPaused ? 'play' : 'pause'} />
      {isPaused ? 'Resume purge' : 'Pause purge'}
    </button>
  )
}

function Story({ history, name }: { history: LoadHistory; name: ContainerName | undefined }) {
  const { headline, text } = purgeStory(
    { ...history, now: { ...history.now, isPaused: isPurgePaused.value } },
    timeText,
  )
  const [isRemoving, setRemoving] = useState(false)
  const remove = async () => {
    setRemoving(true)
    try {
      const { removed } = await purgeNow(name)
      showToast({ title: `Removed ${count(removed)} dead ${removed === 1 ? 'item' : 'items'}.` })
    } catch (error) {
      showToast({ kind: 'failed', title: error instanceof Error ? error.message : String(error) })
    }
    setRemoving(false)
  }
  return (
    <div class="note plain purge-story">
      <Icon name="info" />
      <p class="grow">
        <b>{headline}</b> {text}
      </p>
      {history.now.dead > 0 && mayWrite.value && (
        <button type="button" class="btn sm" disabled={isRemoving} onClick={remove}>
          {isRemoving ? 'Removing…' : 'Remove them now'}
        </button>
      )}
    </div>
  )
}

function Numbered({ history }: { history: LoadHistory }) {
  const { endSecond, stepSeconds, requests, requestRu, purgeRu, throttled, removed } = history
  return (
    <ChartTable
      caption="Load by the second, the newest first"
      head={['time', 'requests', 'requests, RU', 'purge, RU', '429s', 'removed']}
      rows={() =>
        requests
          .map((number, index) => [
            timeText(endSecond - (requests.length - 1 - index) * stepSeconds),
            count(number),
            ruText(requestRu[index]!),
            ruText(purgeRu[index]!),
            count(throttled[index]!),
            count(removed[index]!),
          ])
          .reverse()
          .slice(0, tableRowsMax)
      }
    />
  )
}

/** More rows than anybody reads only slow the page down. */
const tableRowsMax = 300

/** Where the dead wait, and the way to the load of each container. */
function ByContainer() {
  const rows = (databases.value ?? []).flatMap(({ id, containers }) =>
    containers.map(container => ({ database: id, container })),
  )
  if (rows.length === 0) return null
  return (
    <div class="scroll-x load-containers">
      <table class="tbl">
        <thead>
          <tr>
            <th scope="col">container</th>
            <th scope="col" class="hide-m">
              throughput
            </th>
            <th scope="col" class="r">
              living
            </th>
            <th scope="col" class="r">
              dead but present
            </th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ database, container: { id, throughput, living, dead, isAbout } }) => (
            <tr key={`${database}/${id}`}>
              <td>
                <span class="t3">{database} / </span>
                <a href={addressOf({ name: 'container', database, container: id, screen: 'load' })}>{id}</a>
              </td>
              <td class="hide-m">{throughputText(throughput)}</td>
              <td class="r">
                {isAbout && 'about '}
                {count(living)}
              </td>
              <td class={`r ${dead > 0 ? 'dead' : 't3'}`}>{count(dead)}</td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  )
}

function Small({ history, ago, api }: { history: LoadHistory; ago: string; api: Api }) {
  const { now, dead, lagSeconds } = history
  return (
    <div class="load-small">
      <section>
        <h3>
          Dead but present <b>{count(now.dead)}</b>
          <span class="t3">no read sees them</span>
        </h3>
        <Sparkline values={filled(dead)} tone="dead" label={`Dead but present: ${countedItems(now.dead, api)} now.`} />
        <footer>
          <span>{ago}</span>
          <span>now</span>
        </footer>
      </section>
      {now.lagSeconds !== null && (
        <section>
          <h3>
            Oldest has waited <b>{durationText(now.lagSeconds)}</b>
            <span class="t3">purge lag</span>
          </h3>
          <Sparkline
            values={filled(lagSeconds)}
            tone="plain"
            label={`The oldest has waited ${durationText(now.lagSeconds)}.`}
          />
          <footer>
            <span>{ago}</span>
            <span>now</span>
          </footer>
        </section>
      )}
    </div>
  )
}
