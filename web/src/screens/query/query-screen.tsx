/** The screen for queries: SQL, or Mongo's filters and pipelines; rows, cost, plan, history. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { getCompletion } from '../../api/calls.ts'
import { ApiError, apiBase, containerPath } from '../../api/client.ts'
import type { Completion } from '../../api/shapes.ts'
import { useCommands } from '../../app/commands.ts'
import { useKeys } from '../../app/keyboard.ts'
import { keyText } from '../../app/keys.tsx'
import { setParams } from '../../app/router.ts'
import { addressOf } from '../../app/routes.ts'
import type { ScreenProps } from '../../app/screens.ts'
import { announce } from '../../components/announce.tsx'
import { Icon } from '../../components/icon.tsx'
import { Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { itemNowMs } from '../../live/clock.ts'
import { watch } from '../../live/connection.ts'
import { remember, remembered } from '../../live/memory.ts'
import { count, counted, ruText } from '../../live/time-text.ts'
import { formatSql } from './format-sql.ts'
import { History, type PastQuery, remembering } from './history.tsx'
import { Plan } from './plan.tsx'
import { QueryEditor, type QueryProblem } from './query-editor.tsx'
import { QueryRunner, type QueryText } from './query-run.ts'
import { ResultJson, ResultTable } from './results.tsx'
import { millisecondsText, Stats, sumOf } from './stats.tsx'

type Tab = 'results' | 'stats' | 'plan'

function formatted(kind: QueryText['kind'], text: string): string {
  if (kind === 'sql') return formatSql(text)
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** The values of a partition key that somebody typed: `u171`, `"u171"`, `["acme", 7]`. */
export function readPartition(text: string): unknown[] | undefined {
  const trimmed = text.trim()
  if (trimmed === '') return undefined
  try {
    const value: unknown = JSON.parse(trimmed)
    return Array.isArray(value) ? value : [value]
  } catch {
    return [trimmed]
  }
}

function problemOf(error: unknown): QueryProblem | undefined {
  if (!(error instanceof ApiError) || error.line === undefined) return undefined
  return { message: error.message, line: error.line, column: error.column ?? 1 }
}

function readHistory(key: string): PastQuery[] {
  return JSON.parse(remembered(key) ?? '[]') as PastQuery[]
}

export function QueryScreen({ route, container }: ScreenProps) {
  const { database, params } = route
  const { api } = container
  const name = useMemo(() => ({ database, container: container.id }), [database, container.id])
  const historyKey = `mayfly.${database}/${container.id}.queries`
  const [history, setHistory] = useState(() => readHistory(historyKey))
  const last = history[0]
  const [kind, setKind] = useState<QueryText['kind']>(
    api === 'nosql'
      ? 'sql'
      : params.kind === 'pipeline' || (!params.query && last?.kind === 'pipeline')
        ? 'pipeline'
        : 'filter',
  )
  const first = api === 'nosql' ? 'SELECT * FROM c' : kind === 'pipeline' ? '[\n  \n]' : '{}'
  const [text, setText] = useState(params.query ?? last?.text ?? first)
  const [written, setWritten] = useState(0)
  const write = (next: string) => {
    setText(next)
    setWritten(written + 1)
  }
  const [partition, setPartition] = useState('')
  const [sort, setSort] = useState('')
  const [projection, setProjection] = useState('')
  const [completion, setCompletion] = useState<Completion>()
  const [tab, setTab] = useState<Tab>('results')
  const [view, setView] = useState<'table' | 'json'>('table')
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const runner = useMemo(() => new QueryRunner(name), [name])
  useEffect(() => () => runner.dispose(), [runner])
  useEffect(() => watch({ ...name }), [name])
  useEffect(() => {
    getCompletion(name).then(setCompletion, () => {})
  }, [name])

  const query = (): QueryText => {
    if (kind === 'pipeline') return { kind, text }
    if (kind === 'filter') return { kind, text, sort, projection }
    const partitionKey = readPartition(partition)
    return { kind, text, ...(partitionKey && { partitionKey }) }
  }
  const run = async () => {
    setTab(now => (now === 'plan' ? 'results' : now))
    setParams({ query: text, kind: kind === 'pipeline' ? 'pipeline' : undefined })
    const isDone = await runner.run(query())
    if (!isDone) return
    const all = sumOf(runner.outcome.peek()!.pages)
    announce(`${counted(all.rowsOut, 'row')}, ${ruText(all.chargeRu)} RU, ${millisecondsText(all.elapsedMs)}`)
    const next = remembering(readHistory(historyKey), {
      text,
      kind,
      atMs: itemNowMs(),
      rows: all.rowsOut,
      ru: all.chargeRu,
    })
    setHistory(next)
    remember(historyKey, JSON.stringify(next))
  }
  const showPlan = () => {
    setTab('plan')
    void runner.askPlan(query())
  }
  const isRunning = runner.isRunning.value
  const outcome = runner.outcome.value
  const problem = problemOf(outcome?.error ?? (tab === 'plan' ? runner.plan.value?.error : undefined))
  useKeys({ 'shift+enter': () => void run(), f5: () => void run(), 'mod+.': () => void runner.cancel() })
  useCommands(
    [
      { id: 'run', label: 'Run the query', icon: 'play', keys: 'shift+enter', run: () => void run() },
      { id: 'plan', label: 'Show the plan of the query', icon: 'chart', run: showPlan },
    ],
    [text, kind, partition, sort, projection],
  )
  const all = outcome && outcome.pages.length > 0 ? sumOf(outcome.pages) : undefined
  const exportHref = (format: 'csv' | 'json') =>
    `${apiBase}/${containerPath(name)}/export?${new URLSearchParams({ format, query: text.trim() })}`

  return (
    <div class={isHistoryOpen ? 'split query show-pane' : 'split query'}>
      <div class="left">
        <div class="toolbar">
          <button type="button" class="btn pri" disabled={isRunning} onClick={run}>
            <Icon name="play" />
            Run <span class="k">{keyText('shift+enter')}</span>
          </button>
          <button
            type="button"
            class="btn"
            disabled={!isRunning}
            title={isRunning ? keyText('mod+.') : 'Nothing runs'}
            onClick={() => void runner.cancel()}
          >
            <Icon name="stop" />
            Cancel
          </button>
          <button type="button" class="btn hide-m" onClick={showPlan}>
            Show plan
          </button>
          {api === 'mongo' && (
            <Segments
              label="What to write"
              isBare
              value={kind}
              options={[
                { value: 'filter', label: 'Filter' },
                { value: 'pipeline', label: 'Pipeline' },
              ]}
              onChange={next => {
                setKind(next)
                const isEmpty = ['{}', '[\n  \n]', ''].includes(text.trim()) || text === '[\n  \n]'
                if (isEmpty) write(next === 'pipeline' ? '[\n  \n]' : '{}')
              }}
            />
          )}
          <span class="grow" />
          {api === 'nosql' && (
            <span class="field soft partition hide-m">
              <input
                class="mono"
                aria-label="Partition key"
                placeholder="All partitions"
                title={`A value of ${container.partitionKey.join(', ')}: only this partition is asked`}
                value={partition}
                onInput={event => setPartition(event.currentTarget.value)}
              />
            </span>
          )}
          <button type="button" class="btn txt sm" onClick={() => write(formatted(kind, text))}>
            Format
          </button>
          <button type="button" class="btn txt sm onlym" onClick={() => setHistoryOpen(true)}>
            History
          </button>
        </div>
        <div class="query-box">
          <QueryEditor
            text={text}
            written={written}
            api={api}
            label={api === 'nosql' ? 'Query' : kind === 'pipeline' ? 'Pipeline' : 'Filter'}
            completion={completion}
            problem={problem}
            onChange={setText}
            onRun={() => void run()}
            onCancel={() => void runner.cancel()}
          />
        </div>
        {kind === 'filter' && (
          <div class="toolbar find-options">
            <label class="field soft grow">
              <span class="t3 fs12">sort</span>
              <input
                class="mono"
                placeholder='{ "openedAt": -1 }'
                value={sort}
                onInput={event => setSort(event.currentTarget.value)}
              />
            </label>
            <label class="field soft grow">
              <span class="t3 fs12">projection</span>
              <input
                class="mono"
                placeholder='{ "status": 1 }'
                value={projection}
                onInput={event => setProjection(event.currentTarget.value)}
              />
            </label>
          </div>
        )}
        <div class="toolbar result-bar">
          <div class="seg" role="tablist" aria-label="Result">
            {(['results', 'stats', 'plan'] as const).map(each => (
              <button
                key={each}
                type="button"
                role="tab"
                aria-selected={tab === each}
                onClick={() => (each === 'plan' ? showPlan() : setTab(each))}
              >
                {{ results: 'Results', stats: 'Stats', plan: 'Plan' }[each]}
                {each === 'results' && all && <span class="q">{count(all.rowsOut)}</span>}
              </button>
            ))}
          </div>
          {isRunning && <span class="t2 fs12">Running…</span>}
          {all && !isRunning && (
            <span class="t2 nw fs12 cost">
              <b class="t1 m">{ruText(all.chargeRu)} RU</b>
              <span>{millisecondsText(all.elapsedMs)}</span>
              <span class="hide-m">index hit {Math.round(all.indexHit * 100)} %</span>
              {all.deadSkipped > 0 && <span class="dead hide-l">{count(all.deadSkipped)} dead skipped</span>}
            </span>
          )}
          <span class="grow" />
          {tab === 'results' && (
            <span class="hide-m">
              <Segments
                label="Show as"
                isBare
                value={view}
                options={[
                  { value: 'table', label: 'Table' },
                  { value: 'json', label: 'JSON' },
                ]}
                onChange={setView}
              />
            </span>
          )}
          {(['csv', 'json'] as const).map(format => (
            <a
              key={format}
              class="btn sm hide-m"
              href={exportHref(format)}
              download
              title="All rows of the query, as a file"
            >
              <Icon name="export" small />
              {format.toUpperCase()}
            </a>
          ))}
        </div>
        <div class="scroll">
          {tab === 'plan' && <Plan plan={runner.plan.value?.plan} error={runner.plan.value?.error} />}
          {tab !== 'plan' && outcome?.error !== undefined && (
            <div class="pad">
              <Refusal error={outcome.error} />
            </div>
          )}
          {tab !== 'plan' && outcome?.isCanceled && <p class="pad t2">You ended the query.</p>}
          {tab === 'stats' && all && <Stats pages={outcome!.pages} />}
          {tab === 'results' && all && (
            <Rows name={name} outcome={outcome!} view={view} isRunning={isRunning} onMore={() => void runner.more()} />
          )}
          {tab !== 'plan' && !outcome && !isRunning && (
            <p class="pad t2">
              Run the query with <span class="t1">{keyText('shift+enter')}</span>. Its cost is shown with its rows.
            </p>
          )}
        </div>
      </div>
      <History
        history={history}
        wished={all?.wished ?? []}
        settingsHref={addressOf({ name: 'container', ...name, screen: 'settings', params: { part: 'indexing' } })}
        onChoose={past => {
          setHistoryOpen(false)
          write(past.text)
          if (api === 'mongo') setKind(past.kind)
        }}
        onClear={() => {
          setHistory([])
          remember(historyKey, undefined)
        }}
        onClose={() => setHistoryOpen(false)}
      />
    </div>
  )
}

interface RowsProps {
  name: { database: string; container: string }
  outcome: NonNullable<QueryRunner['outcome']['value']>
  view: 'table' | 'json'
  isRunning: boolean
  onMore: () => void
}

function Rows({ name, outcome, view, isRunning, onMore }: RowsProps) {
  const rows = outcome.pages.flatMap(page => page.rows)
  const lives = outcome.pages.flatMap(page => page.lives)
  const hasMore = outcome.pages.at(-1)?.next !== undefined
  return (
    <>
      {rows.length === 0 && !hasMore && <p class="pad t2">No row.</p>}
      {rows.length > 0 &&
        (view === 'json' ? <ResultJson rows={rows} /> : <ResultTable name={name} rows={rows} lives={lives} />)}
      {hasMore && (
        <div class="cpad">
          <button type="button" class="btn sm" disabled={isRunning} onClick={onMore}>
            {rows.length === 0 ? 'Look further' : 'Next 100 rows'}
          </button>
        </div>
      )}
    </>
  )
}
