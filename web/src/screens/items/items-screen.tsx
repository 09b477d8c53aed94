/** The screen of a container's items: filter, grid, footer, dock, and the pane of the item that is open. */

import { useSignal } from '@preact/signals'
import { useEffect, useMemo, useRef, useState } from 'preact/hooks'
import { getCompletion, getForecast, type ListOrder } from '../../api/calls.ts'
import type { Completion, Filter, Forecast, ListedItem, WholeItem } from '../../api/shapes.ts'
import { remember, remembered } from '../../browser/memory.ts'
import { itemsWord, itemWord } from '../../containers/words.ts'
import { onLive, reconnections, watch } from '../../live/connection.ts'
import { mayWrite } from '../../live/server-state.ts'
import { useCommands } from '../../navigation/commands.ts'
import { useKeys } from '../../navigation/keyboard.ts'
import { goToScreen, setParams } from '../../navigation/router.ts'
import { eachSecond, jumps } from '../../time/clock.ts'
import type { ScreenProps } from '../screen-props.ts'
import { ColumnChooser } from './column-chooser.tsx'
import { type ColumnChoice, columnsOf, columnsParameter, firstPaths } from './columns.ts'
import { ListCounts, withLiveCounts } from './counts.ts'
import { DeadBar } from './dead-bar.tsx'
import { openDeleteItems } from './delete-items.tsx'
import { Dock } from './dock.tsx'
import { ItemPane } from './editor/item-pane.tsx'
import { EmptyList } from './empty-list.tsx'
import { FilterBar } from './filter-bar.tsx'
import { ItemGrid } from './item-grid.tsx'
import { ItemList, type ListState, rowsMax } from './item-list.ts'
import { ListFoot } from './list-foot.tsx'
import { Selection } from './selection.ts'
import { placeAt } from './time-map.ts'

const recentMax = 20
/** Of the last deadline that is loaded, in the group "under 1 min". */
const minuteS = 60

function readFilter(text: string | undefined): Filter {
  return text === 'minute' || text === 'dead' || text === 'never' ? text : 'all'
}

function readOrder(text: string | undefined): ListOrder {
  return text === 'latest' || text === 'natural' || text === 'newest' || text === 'oldest' ? text : 'soonest'
}

function readSeconds(text: string | undefined): number | undefined {
  return text !== undefined && /^\d{1,12}$/.test(text) ? Number(text) : undefined
}

/** What the browser remembers for a container. */
function useRemembered<Value>(key: string, first: Value): [Value, (value: Value) => void] {
  const [value, setValue] = useState<Value>(() => {
    const text = remembered(key)
    return text === null ? first : (JSON.parse(text) as Value)
  })
  const set = (next: Value) => {
    setValue(next)
    remember(key, JSON.stringify(next))
  }
  return [value, set]
}

export function ItemsScreen({ route, container }: ScreenProps) {
  const { database, params } = route
  const name = useMemo(() => ({ database, container: container.id }), [database, container.id])
  const memoryKey = `mayfly.${database}/${container.id}`
  const query = params.query ?? ''
  const filter = readFilter(params.filter)
  const order = readOrder(params.order)
  const from = readSeconds(params.from)
  const to = readSeconds(params.to)
  const openKey = params.item

  const [completion, setCompletion] = useState<Completion>()
  const [choice, setChoice] = useRemembered<ColumnChoice | null>(`${memoryKey}.columns`, null)
  const [recent, setRecent] = useRemembered<string[]>(`${memoryKey}.filters`, [])
  const [selection, setSelection] = useState(new Selection())
  const [pendingKey, setPendingKey] = useState<string>()
  const [view, setView] = useState({ top: 0, bottom: 0 })
  const lastSelected = useRef<string | undefined>(undefined)
  const died = useSignal(0)
  const map = useRef<Forecast | undefined>(undefined)
  const farAsked = useRef(0)

  const shownChoice: ColumnChoice = choice ?? { hidden: [], paths: completion ? firstPaths(completion, container) : [] }
  const columnsText = columnsParameter(shownChoice.paths)
  // A path may be called like a fact that is hidden.
  const columns = columnsOf(container, shownChoice.paths).filter(
    column => column.kind === 'value' || !shownChoice.hidden.includes(column.name),
  )

  const state: ListState = useMemo(
    () => ({
      filter,
      order,
      query,
      columns: columnsText,
      ...(from !== undefined && order === 'soonest' && { from }),
      ...(to !== undefined && order === 'soonest' && { to }),
    }),
    [filter, order, query, columnsText, from, to],
  )
  const list = useMemo(() => new ItemList(name, state), [name])
  const counts = useMemo(() => new ListCounts(name), [name])
  useEffect(
    () => () => {
      list.dispose()
      counts.dispose()
    },
    [list],
  )

  // Which paths there are: asked once. It decides the first columns; the list waits for it only if it must.
  const needsPaths = choice === null && (container.partitionKey.length === 0 || container.partitionKey[0] === '/id')
  const [isReady, setReady] = useState(!needsPaths)
  useEffect(() => {
    getCompletion(name)
      .then(setCompletion, () => {})
      .finally(() => setReady(true))
  }, [name])

  useEffect(() => {
    if (!isReady) return
    setSelection(new Selection())
    void list.load(state)
  }, [list, state, isReady])
  useEffect(() => {
    died.value = 0
    void counts.ask(query)
  }, [counts, query])
  useEffect(() => watch({ ...name, feed: 'latest', columns: columnsText }), [name, columnsText])

  const reload = () => {
    map.current = undefined
    void list.load()
    counts.askSoon()
  }
  const topRef = useRef(0)
  topRef.current = view.top
  useEffect(() => {
    const ends = [
      onLive('changes', ({ changes, skipped }) => {
        map.current = undefined
        for (const change of changes) {
          if (change.kind === 'delete' || change.kind === 'died') list.remove(new Set([change.key]))
          else receive(ItemList.rowOf(change, ''))
        }
        if (skipped > 0) list.isStale.value = true
        counts.askSoon()
      }),
      onLive('deaths', ({ count }) => {
        map.current = undefined
        if (query === '') died.value += count
        counts.askSoon()
      }),
      onLive('counts', ({ containers }) => {
        const counted = containers.find(each => each.database === database && each.container === container.id)
        if (counted && filter === 'all' && query === '' && list.hasMoreThan(counted.living)) reload()
      }),
      onLive('catalog', reload),
      onLive('resync', reload),
      reconnections.subscribe(n => {
        if (n > 0) reload()
      }),
    ]
    return () => {
      for (const end of ends) end()
    }
  }, [list, query, filter])

  /** A row of the live connection. With a query only the server knows if it belongs here. */
  const receive = (item: ListedItem) => {
    const isHere = list.rows.peek().some(({ key }) => key === item.key)
    if (filter === 'dead') return
    if (query !== '' && !isHere) list.isStale.value = true
    else if (filter === 'never' && item.deadline !== null) list.remove(new Set([item.key]))
    else if (filter === 'minute' && (item.deadline ?? Number.POSITIVE_INFINITY) > lastMinute())
      list.remove(new Set([item.key]))
    else if (to === undefined && from === undefined) list.put(item, topRef.current)
  }

  // The group "under 1 min": each second somebody else comes within the minute.
  const nowS = filter === 'minute' ? eachSecond.value / 1000 : 0
  const lastMinute = () => nowS + minuteS
  useEffect(() => {
    if (filter !== 'minute' || list.isFirst.peek() || !list.isAtEnd.peek()) return
    const last = Math.max(nowS, ...list.rows.peek().map(({ deadline }) => deadline ?? 0))
    if (last < lastMinute()) void list.appendUntil(last, lastMinute())
  }, [filter, nowS])
  // Dead rows leave when they are removed: when their number falls, the list is another one.
  const deadBefore = useRef(container.dead)
  useEffect(() => {
    if (filter === 'dead' && container.dead !== deadBefore.current) void list.load()
    deadBefore.current = container.dead
  }, [filter, container.dead])
  useEffect(() => {
    if (jumps.value > 0 && !list.isFirst.peek()) counts.askSoon()
  }, [jumps.value])

  const shownCounts = withLiveCounts(counts.counts.value, container, query, undefined)
  const isBrushed = state.from !== undefined || state.to !== undefined
  const total = isBrushed ? list.rows.value.length : (shownCounts?.[filter] ?? list.rows.value.length)
  // A time tells the place of what dies, and of nothing else.
  const isMapped = query === '' && order === 'soonest' && filter === 'all' && !isBrushed
  const mapped = isMapped && shownCounts ? Math.max(0, shownCounts.all - shownCounts.never) : 0
  const reach = mapped + rowsMax
  useEffect(() => {
    list.reach.value = reach
  }, [list, reach])

  const goFar = async (index: number) => {
    const asked = ++farAsked.current
    if (!isMapped) {
      await list.loadUpTo(index)
      return
    }
    if (index < 100) {
      await list.load()
      return
    }
    map.current ??= await getForecast(name, 'all', 200).catch(() => undefined)
    if (asked !== farAsked.current || map.current === undefined) return
    const place = placeAt(map.current, index)
    const first = list.startIndex.peek()
    const isInSight = place.startIndex < index && place.startIndex <= first && first <= index
    if (!isInSight) await list.load(state, place)
    if (asked === farAsked.current) await list.loadUpTo(index)
  }

  const open = (item: ListedItem, isWide: boolean) =>
    setParams({ item: item.key, wide: isWide || params.wide ? '1' : undefined }, { replace: openKey !== undefined })
  const close = () => setParams({ item: undefined, wide: undefined })
  const select = (item: ListedItem, isRange: boolean) => {
    const loaded = list.rows.peek().map(({ key }) => key)
    const before = lastSelected.current
    setSelection(isRange && before ? selection.extended(before, item.key, loaded) : selection.toggled(item.key, loaded))
    lastSelected.current = item.key
  }
  const applyQuery = (text: string) => {
    if (text !== '') setRecent([text, ...recent.filter(each => each !== text)].slice(0, recentMax))
    setParams({ query: text })
  }
  const setFilter = (next: Filter) => setParams({ filter: next === 'all' ? undefined : next })
  const api = container.api
  useKeys({
    ...(mayWrite.value && { n: () => setParams({ item: 'new', wide: '1' }, { replace: false }) }),
    escape: () => {
      if (!selection.isEmpty) setSelection(new Selection())
      else if (openKey) close()
    },
  })
  useCommands(
    [
      {
        id: 'new-item',
        label: `New ${itemWord(api)} in ${container.id}`,
        icon: 'add',
        keys: 'n',
        ...(!mayWrite.value && { disabled: 'a read-only key cannot write' }),
        run: () => goToScreen('items', { item: 'new', wide: '1' }),
      },
      {
        id: 'dead',
        label: `Dead but present in ${container.id}`,
        icon: 'filter',
        keys: '3',
        run: () => setFilter('dead'),
      },
      {
        id: 'minute',
        label: `Under 1 min in ${container.id}`,
        icon: 'filter',
        keys: '2',
        run: () => setFilter('minute'),
      },
    ],
    [container.id, mayWrite.value],
  )

  /** The pane has written something: the row shows it before the live connection says it. */
  const saved = (item: WholeItem) => {
    const row = list.rows.peek().find(({ key }) => key === item.key)
    receive({ ...item, values: row?.values ?? {} })
    counts.askSoon()
  }
  const isWide = params.wide === '1' || openKey === 'new'
  const split = openKey === undefined ? 'split alone' : isWide ? 'split show-pane wide' : 'split show-pane'
  const isEmpty =
    !list.isFirst.value && list.rows.value.length === 0 && list.isAtEnd.value && list.error.value === undefined
  return (
    <div class={`${split} ${api}`}>
      <div class="left">
        <FilterBar
          container={container}
          query={query}
          filter={filter}
          counts={shownCounts}
          error={list.error.value}
          recent={recent}
          onQuery={applyQuery}
          onFilter={setFilter}
        >
          <ColumnChooser container={container} completion={completion} choice={shownChoice} onChoice={setChoice} />
        </FilterBar>
        {filter === 'dead' && <DeadBar name={name} container={container} onPurged={reload} />}
        <ItemGrid
          list={list}
          container={container}
          columns={columns}
          total={Math.min(total, reach)}
          openKey={openKey}
          pendingKey={pendingKey}
          selection={selection}
          label={
            filter === 'dead' ? `${itemsWord(api)} that are dead but present` : `${itemsWord(api)} of ${container.id}`
          }
          isDeadList={filter === 'dead'}
          onOpen={open}
          onSelect={select}
          onSelectAll={() => setSelection(new Selection(selection.isAll ? undefined : { kind: 'all' }))}
          onExplain={item => open(item, false)}
          onDeaths={n => {
            if (query !== '') died.value += n
          }}
          onFar={index => void goFar(index)}
          onView={setView}
        />
        {isEmpty && (
          <EmptyList
            name={name}
            container={container}
            query={query}
            filter={filter}
            isBrushed={isBrushed}
            onClear={() => setParams({ query: undefined, filter: undefined, from: undefined, to: undefined })}
          />
        )}
        <ListFoot
          list={list}
          container={container}
          order={order}
          filter={filter}
          query={query}
          from={state.from}
          to={state.to}
          matching={shownCounts?.[filter]}
          isAbout={shownCounts?.isAbout ?? false}
          died={died.value}
          view={view}
          selection={selection}
          onOrder={next => setParams({ order: next === 'soonest' ? undefined : next, from: undefined, to: undefined })}
          onReload={reload}
          onClearBrush={() => setParams({ from: undefined, to: undefined })}
          onClearSelection={() => setSelection(new Selection())}
          onDelete={() =>
            openDeleteItems({
              name,
              api,
              selection,
              query,
              filter,
              total: shownCounts?.[filter] ?? 0,
              onDone: () => {
                setSelection(new Selection())
                reload()
              },
            })
          }
        />
        {!isWide && <Dock name={name} inheritedNow={container.defaultTtl ?? 0} />}
      </div>
      {openKey !== undefined && (
        <ItemPane
          key={openKey}
          name={name}
          container={container}
          itemKey={openKey}
          isWide={isWide}
          onClose={close}
          onWide={wide => setParams({ wide: wide ? '1' : undefined })}
          onSaved={saved}
          onGone={key => {
            list.remove(new Set([key]))
            counts.askSoon()
          }}
          onPending={setPendingKey}
        />
      )}
    </div>
  )
}
