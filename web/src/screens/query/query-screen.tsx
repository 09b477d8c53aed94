/** The screen for queries: SQL, or Mongo's filters and pipelines; rows, cost, plan, history. */

import { useEffect, useMemo, useState } from 'preact/hooks'
import { getCompletion } from '../../api/calls.ts'
import { ApiError } from '../../api/client.ts'
import type { Completion } from '../../api/shapes.ts'
import { remember, remembered } from '../../browser/memory.ts'
import { announce } from '../../components/announce.tsx'
import { Icon } from '../../components/icon.tsx'
import { fieldText, Refusal } from '../../components/refusal.tsx'
import { Segments } from '../../components/segments.tsx'
import { readPartition } from '../../containers/partition-text.ts'
import type { QueryText } from '../../containers/query-text.ts'
import { useWatch } from '../../live/use-watch.ts'
import { useCommands } from '../../navigation/commands.ts'
import { keyText } from '../../navigation/key-caps.tsx'
import { useKeys } from '../../navigation/keyboard.ts'
import { setParams } from '../../navigation/router.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count, counted, ruText } from '../../text/number-text.ts'
import { itemNowMs } from '../../time/clock.ts'
import type { ScreenProps } from '../screen-props.ts'
import { formatSql } from './format-sql.ts'
import { History, type PastQuery, remembering } from './history.tsx'
import { Plan } from './plan.tsx'
import { QueryEditor, type QueryProblem } from './query-editor.tsx'
import { QueryRunner } from './query-run.ts'
import { ResultJson, ResultTable } from './results.tsx'
import { millisecondsText, Stats, shareText, sumOf } from './stats.tsx'

const tabs = ['results', 'stats', 'plan'] as const
type Tab = (typeof tabs)[number]

function formatted(kind: QueryText['kind'], text: string): string {
  if (kind === 'sql') return formatSql(text)
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

/** What is wrong in the text of the editor. */
function problemOf(error: unknown): QueryProblem | undefined {
  if (!(error instanceof ApiError) || error.line === undefined || isOfOption(error)) return undefined
  return { message: error.message, line: error.line, column: error.column ?? 1 }
}

/** The inputs beside the editor, by the names of their fields in a query. */
const optionFields: readonly unknown[] = ['partitionKey', 'sort', 'projection']
const isOfOption = ({ field }: ApiError) => optionFields.includes(field)

/** The error of an input, if the refusal is about it. */
const invalid = (refusal: ApiError | undefined, field: string) =>
  refusal?.field === field ? ({ 'aria-invalid': 'true', 'aria-describedby': 'option-problem' } as const) : {}

function readHistory(key: string): PastQuery[] {
  return JSON.parse(remembered(key) ?? '[]') as PastQuery[]
}

export function QueryScreen({ route, container }: ScreenProps) {
  const { database, params } = route
  const { api } = container
  const name = useMemo(() => ({ database, container: container.id }), [database, container.id])
  const historyKey = `mayfly.${database}/${container.id}.queries`
  const [history, setHistory] = useState(() => readHistory(historyKey))
  // An address that names a query is the whole of it; without one, the last query is there again.
  const last = params.query === undefined ? history[0] : undefined
  const [kind, setKind] = useState<QueryText['kind']>(
    api === 'nosql' ? 'sql' : (params.kind ?? last?.kind) === 'pipeline' ? 'pipeline' : 'filter',
  )
  const first = api === 'nosql' ? 'SELECT * FROM c' : kind === 'pipeline' ? '[\n  \n]' : '{}'
  const [text, setText] = useState(params.query ?? last?.text ?? first)
  const [written, setWritten] = useState(0)
  const write = (next: string) => {
    setText(next)
    setWritten(written + 1)
  }
  const [partition, setPartition] = useState(params.partition ?? last?.partition ?? '')
  const [sort, setSort] = useState(params.sort ?? last?.sort ?? '')
  const [projection, setProjection] = useState(params.projection ?? last?.projection ?? '')
  const [completion, setCompletion] = useState<Completion>()
  const [tab, setTab] = useState<Tab>(() => tabs.find(each => each === params.tab) ?? 'results')
  const [view, setView] = useState<'table' | 'json'>(params.view === 'json' ? 'json' : 'table')
  const [isHistoryOpen, setHistoryOpen] = useState(false)
  const runner = useMemo(() => new QueryRunner(name), [name])
  useEffect(() => () => runner.dispose(), [runner])
  useWatch(name)
  useEffect(() => {
    getCompletion(name).then(setCompletion, () => {})
    // A plan costs nothing; a query is not run by a link.
    if (tab === 'plan') void runner.askPlan(query())
  }, [name])

  const query = (): QueryText => {
    if (kind === 'pipeline') return { kind, text }
    if (kind === 'filter') return { kind, text, sort, projection }
    const partitionKey = readPartition(partition)
    return { kind, text, ...(partitionKey && { partitionKey }) }
  }
  const options = {
    ...(kind === 'sql' && { partition: partition.trim() }),
    ...(kind === 'filter' && { sort: sort.trim(), projection: projection.trim() }),
  }
  const show = (next: Tab) => {
    setTab(next)
    const address = { partition: undefined, sort: undefined, projection: undefined, ...options }
    const named = { query: text, kind: kind === 'pipeline' ? kind : undefined, ...address }
    setParams({ ...named, tab: next === 'results' ? undefined : next })
  }
  const run = async () => {
    show(tab === 'plan' ? 'results' : tab)
    const isDone = await runner.run(query())
    if (!isDone) return
    const all = sumOf(runner.outcome.peek()!.pages)
    announce(`${counted(all.rowsOut, 'row')}, ${ruText(all.chargeRu)} RU, ${millisecondsText(all.elapsedMs)}`)
    const next = remembering(readHistory(historyKey), {
      text,
      kind,
      ...options,
      atMs: itemNowMs(),
      rows: all.rowsOut,
      ru: all.chargeRu,
    })
    setHistory(next)
    remember(historyKey, JSON.stringify(next))
  }
  const save = async (format: 'csv' | 'json') => {
    if (!(await runner.save(query(), format)) && tab === 'plan') show('results')
  }
  const showPlan = () => {
    show('plan')
    void runner.askPlan(query())
  }
  const isRunning = runner.isRunning.value
  const outcome = runner.outcome.value
  const refusal = tab === 'plan' ? runner.plan.value?.error : outcome?.error
  const problem = useMemo(() => problemOf(refusal), [refusal])
  const atOption = refusal instanceof ApiError && isOfOption(refusal) ? refusal : undefined
  useKeys({ 'shift+enter': () => void run(), f5: () => void run(), 'mod+.': () => void runner.cancel() })
  useCommands(
    [
      { id: 'run', label: 'Run the query', icon: 'play', keys: 'shift+enter', run: () => void run() },
      { id: 'plan', label: 'Show the plan of the query', icon: 'chart', run: showPlan },
    ],
    [text, kind, partition, sort, projection],
  )
  const all = outcome && outcome.pages.length > 0 ? sumOf(outcome.pages) : undefined
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
            <span class={`field soft partition hide-m${atOption?.field === 'partitionKey' ? ' bad' : ''}`}>
              <input
                class="mono"
                aria-label="Partition key"
                {...invalid(atOption, 'partitionKey')}
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
            <label class={atOption?.field === 'sort' ? 'field soft grow bad' : 'field soft grow'}>
              <span class="t3 fs12">sort</span>
              <input
                class="mono"
                {...invalid(atOption, 'sort')}
                placeholder='{ "openedAt": -1 }'
                value={sort}
                onInput={event => setSort(event.currentTarget.value)}
              />
            </label>
            <label class={atOption?.field === 'projection' ? 'field soft grow bad' : 'field soft grow'}>
              <span class="t3 fs12">projection</span>
              <input
                class="mono"
                {...invalid(atOption, 'projection')}
                placeholder='{ "status": 1 }'
                value={projection}
                onInput={event => setProjection(event.currentTarget.value)}
              />
            </label>
          </div>
        )}
        {atOption && (
          <p class="field-problem danger" id="option-problem">
            {fieldText(atOption)}
          </p>
        )}
        <div class="toolbar result-bar">
          <div class="seg" role="tablist" aria-label="Result">
            {tabs.map(each => (
              <button
                key={each}
                type="button"
                role="tab"
                aria-selected={tab === each}
                onClick={() => (each === 'plan' ? showPlan() : show(each))}
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
              {all.indexHit !== null && <span class="hide-m">index hit {shareText(all.indexHit)}</span>}
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
                onChange={next => {
                  setView(next)
                  setParams({ view: next === 'json' ? next : undefined })
                }}
              />
            </span>
          )}
          {(['csv', 'json'] as const).map(format => (
            <button
              key={format}
              type="button"
              class="btn sm"
              title="All rows of the query, as a file"
              onClick={() => void save(format)}
            >
              <Icon name="export" small />
              {format.toUpperCase()}
            </button>
          ))}
        </div>
        {/* biome-ignore lint/a11y/noNoninteractiveTabindex: what scrolls must be reachable by the keyboard. */}
        <section class="scroll" aria-label="Result" tabIndex={0}>
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
        </section>
      </div>
      <History
        history={history}
        wished={all?.wished ?? []}
        settingsHref={addressOf({ name: 'container', ...name, screen: 'settings', params: { part: 'indexing' } })}
        onChoose={past => {
          setHistoryOpen(false)
          write(past.text)
          setPartition(past.partition ?? '')
          setSort(past.sort ?? '')
          setProjection(past.projection ?? '')
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
