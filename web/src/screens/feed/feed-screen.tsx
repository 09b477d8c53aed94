/** The live tail of a container: writes, deletes and deaths. */

import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import type { Change } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { partitionKeyText } from '../../containers/words.ts'
import { onLive } from '../../live/connection.ts'
import { useRefresh } from '../../live/refresh.ts'
import { useWatch } from '../../live/use-watch.ts'
import { useKeys } from '../../navigation/keyboard.ts'
import { setParams } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count } from '../../text/number-text.ts'
import { clockMode, eachSecond, itemNowMs } from '../../time/clock.ts'
import { fullTime, spanText, timeOfDay } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import type { ScreenProps } from '../screen-props.ts'
import { ChangePane } from './change-pane.tsx'
import { kindLook, whatHappened } from './change-words.ts'
import './feed.css'
import { changeName, type FeedMode, FeedTail, keptMax } from './tail.ts'

type Only = 'all' | 'deaths' | 'writes'

/** The newest are asked for again at most this often. */
const gapMs = 500
/** Rows in the document; more are shown on demand. */
const rowsStep = 200

export function FeedScreen({ route, container }: ScreenProps) {
  const { params, database } = route
  const name = { database, container: route.container }
  const isMongo = container.api === 'mongo'
  const mode: FeedMode = params.mode === 'latest' || !container.keepsLog ? 'latest' : 'all'
  const only = params.only === 'deaths' || params.only === 'writes' ? params.only : 'all'
  const tail = useMemo(
    () => new FeedTail(name, mode, Math.floor(itemNowMs() / 1000)),
    [database, route.container, mode],
  )
  const [openName, setOpen] = useState<string | undefined>()
  const [rowsMax, setRowsMax] = useState(rowsStep)
  useWatch(route, mode)
  // Between the first answer and the beginning of the live connection something may have happened.
  useRefresh(signal => tail.read(signal), { gapMs, events: ['hello'] }, [tail])
  useEffect(
    () => onLive('changes', ({ changes, skipped, now }) => tail.add(changes, skipped, Math.floor(now / 1000))),
    [tail],
  )
  useEffect(() => {
    setOpen(undefined)
    setRowsMax(rowsStep)
  }, [tail])
  const isPaused = tail.isPaused.value
  const pause = () => {
    if (isPaused) tail.resume()
    else tail.isPaused.value = true
  }
  useKeys({
    p: pause,
    escape: () => setOpen(undefined),
    '1': () => show('all'),
    '2': () => show('deaths'),
    '3': () => show('writes'),
  })
  const show = (next: Only) => setParams({ only: next === 'all' ? undefined : next })
  const matching = tail.changes.value.filter(change => isShown(change, only))
  const rows = matching.slice(0, rowsMax)
  const open = openName === undefined ? undefined : matching.find(change => changeName(change) === openName)
  return (
    <div class={open ? 'split show-pane' : 'split no-pane'}>
      <div class="left">
        <div class="toolbar">
          <button type="button" class="btn" aria-pressed={isPaused} onClick={pause}>
            <Icon name={isPaused ? 'play' : 'pause'} />
            {isPaused ? 'Go on' : 'Pause'}
          </button>
          <Segments
            isBare
            label="What the feed holds"
            value={mode}
            options={[
              { value: 'latest', label: 'Latest versions' },
              {
                value: 'all',
                label: 'All versions and deletes',
                ...(!container.keepsLog && { disabled: noLogText(isMongo) }),
              },
            ]}
            onChange={next => setParams({ mode: next === 'latest' ? 'latest' : undefined })}
          />
          <span class="grow" />
          <Segments
            isBare
            label="Which changes are shown"
            value={only}
            options={[
              { value: 'all', label: 'All' },
              {
                value: 'deaths',
                label: 'Deaths',
                ...(mode === 'latest' && { disabled: 'Deaths are in the feed of all versions.' }),
              },
              { value: 'writes', label: 'Writes' },
            ]}
            onChange={show}
          />
        </div>
        {tail.error.value !== undefined && <Refusal error={tail.error.value} />}
        {!container.keepsLog && (
          <p class="note plain feed-note">
            <Icon name="info" />
            <span>
              {noLogText(isMongo)}{' '}
              {!isMongo && (
                <a class="link" href={addressOf({ ...route, screen: 'settings', params: { part: 'feed' } })}>
                  Switch it on
                </a>
              )}
            </span>
          </p>
        )}
        <Rows
          rows={rows}
          openName={openName}
          onOpen={each => setOpen(each === openName ? undefined : each)}
          keyName={partitionKeyText(container)}
        />
        {rows.length === 0 && tail.isLoaded.value && (
          <p class="feed-empty">
            {only === 'all' ? 'No change' : only === 'deaths' ? 'No death' : 'No write'} in the last hour.
          </p>
        )}
        {matching.length > rows.length && (
          <button type="button" class="btn txt" onClick={() => setRowsMax(rowsMax + rowsStep)}>
            Show older ones
          </button>
        )}
        <Foot tail={tail} isPaused={isPaused} isFull={matching.length >= keptMax} />
      </div>
      {open && <ChangePane name={name} change={open} api={container.api} onClose={() => setOpen(undefined)} />}
    </div>
  )
}

function noLogText(isMongo: boolean): string {
  return isMongo
    ? 'Deletes and deaths are kept once somebody watches this collection by a change stream.'
    : 'Deletes and deaths are only in the feed of all versions, which this container does not keep.'
}

function isShown({ kind }: Change, only: Only): boolean {
  if (only === 'deaths') return kind === 'died'
  return only === 'all' || kind === 'create' || kind === 'replace'
}

interface RowsProps {
  rows: readonly Change[]
  openName: string | undefined
  onOpen: (name: string) => void
  keyName: string
}

function Rows({ rows, openName, onOpen, keyName }: RowsProps) {
  const root = useRef<HTMLDivElement>(null)
  const newest = useRef<number | undefined>(undefined)
  const before = newest.current
  useEffect(() => {
    newest.current = Math.max(newest.current ?? 0, ...rows.map(({ lsn }) => lsn))
  }, [rows[0]?.lsn])
  const exact = (seconds: number) => fullTime(seconds * 1000, itemNowMs(), zone())
  const move = (event: KeyboardEvent) => {
    const step = { ArrowDown: 1, j: 1, ArrowUp: -1, k: -1 }[event.key]
    if (!step) return
    const all = [...root.current!.querySelectorAll<HTMLElement>('.feed-row:not(.hd)')]
    const at = all.indexOf(document.activeElement as HTMLElement)
    all[Math.min(all.length - 1, Math.max(0, at + step))]?.focus()
    event.preventDefault()
  }
  if (rows.length === 0) return null
  return (
    <div ref={root} class="feed-grid" role="grid" aria-label="Changes, the newest first" tabIndex={-1} onKeyDown={move}>
      <div class="feed-row hd" role="row">
        <span role="columnheader">time</span>
        <span role="columnheader" class="lsn">
          lsn
        </span>
        <span role="columnheader">change</span>
        <span role="columnheader">id</span>
        <span role="columnheader" class="pk">
          {keyName}
        </span>
        <span role="columnheader">what</span>
      </div>
      {rows.map((change, index) => (
        <div
          key={changeName(change)}
          role="row"
          class={rowClass(change, before)}
          aria-selected={changeName(change) === openName}
          tabIndex={changeName(change) === openName || (openName === undefined && index === 0) ? 0 : -1}
          onClick={() => onOpen(changeName(change))}
          onKeyDown={event => {
            if (event.key !== 'Enter' && event.key !== ' ') return
            event.preventDefault()
            onOpen(changeName(change))
          }}
        >
          <span role="gridcell" class="time t2">
            {timeOfDay(change.ts * 1000, zone())}
          </span>
          <span role="gridcell" class="lsn">
            {change.lsn}
          </span>
          <span role="gridcell" class="kind">
            <span class={`pill ${kindLook[change.kind]}`}>{change.kind}</span>
          </span>
          <span role="gridcell" class="id mono" title={change.id}>
            {change.id}
          </span>
          <span role="gridcell" class="pk mono t2">
            {change.partitionKey.map(part => (typeof part === 'string' ? part : JSON.stringify(part))).join(', ')}
          </span>
          <span role="gridcell" class="what t2">
            {whatHappened(change, exact)}
          </span>
        </div>
      ))}
    </div>
  )
}

function Foot({ tail, isPaused, isFull }: { tail: FeedTail; isPaused: boolean; isFull: boolean }) {
  const { changes, deaths } = tail.rate(Math.floor(eachSecond.value / 1000))
  const waiting = tail.waiting.value.length
  const skipped = tail.skipped.value
  const perSecond = (n: number) => (n < 10 ? n.toFixed(1) : Math.round(n).toString())
  return (
    <div class="gfoot">
      <i class={isPaused ? 'dot off' : 'dot'} />
      <span role="status">
        {isPaused
          ? `Paused${waiting > 0 ? `, ${waiting} new` : ''}`
          : clockMode.value === 'manual'
            ? 'Following the newest. Nothing dies until you move the clock.'
            : 'Following the newest'}
      </span>
      <span class="grow" />
      <span class="t3">
        {changes > 0 && `${perSecond(changes)} changes/s, ${perSecond(deaths)} of them deaths. `}
        {skipped > 0 && `${count(skipped)} came too fast to be shown. `}
        {isFull
          ? `The newest ${keptMax} are kept here.`
          : tail.isCut.value
            ? 'There were too many before these to show them.'
            : `From ${spanText(3600)} ago on.`}
        {tail.isForgotten.value && ' Older ones are gone.'}
      </span>
    </div>
  )
}

function rowClass({ kind, lsn }: Change, before: number | undefined): string {
  const isNew = before !== undefined && lsn > before
  return `feed-row ${kind === 'died' ? 'is-death' : ''} ${isNew ? 'is-new' : ''}`
}
