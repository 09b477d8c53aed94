/** The grid: of any number of rows, those in view are in the document. Rows fold away when they die. */

import { useSignal, useSignalEffect } from '@preact/signals'
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks'
import type { ListOrder } from '../../api/calls.ts'
import type { Container, ListedItem } from '../../api/shapes.ts'
import { useKeys } from '../../navigation/keyboard.ts'
import { clockMode, eachSecond, jumps } from '../../time/clock.ts'
import type { Column } from './columns.ts'
import { trackSizes } from './columns.ts'
import { moveInGrid } from './grid-keys.ts'
import type { ItemList } from './item-list.ts'
import { FoldingRow, ItemRow, type RowHandlers } from './item-row.tsx'
import { moveTo, revealRow, rowOffset, rowsInView, type ScrollPlace, scrollHeight } from './scroll-window.ts'
import type { Selection } from './selection.ts'

const flashMs = 120
const foldMs = 300
/** More deaths than these in view in one tick: one repaint, no folding. */
const foldsMax = 20
/** Rows still to come when the next page is asked for: two pages ahead. */
const aheadRows = 200

const sortMarks: Readonly<Partial<Record<ListOrder, { name: 'ascending' | 'descending'; mark: string }>>> = {
  soonest: { name: 'ascending', mark: '▲' },
  latest: { name: 'descending', mark: '▼' },
}

interface ItemGridProps {
  list: ItemList
  container: Container
  columns: readonly Column[]
  /** How many rows the whole list has, as far as scrolling reaches; the scroll bar is sized by it. */
  total: number
  openKey: string | undefined
  pendingKey: string | undefined
  selection: Selection
  label: string
  /** Dead rows are what is shown, and do not fold. */
  isDeadList: boolean
  onOpen: (item: ListedItem, isWide: boolean) => void
  onSelect: (item: ListedItem, isRange: boolean) => void
  onSelectAll: () => void
  onExplain: (item: ListedItem) => void
  onDeaths: (count: number) => void
  /** The list has no row for this index: somebody scrolled far. */
  onFar: (index: number) => void
  /** The first row in view, and the one after the last. */
  onView: (view: { top: number; bottom: number }) => void
}

/** 52 px for the two lines of narrow windows, 44 for fingers, 30 otherwise: as the style sheets say. */
function useRowHeight(): number {
  const measure = () => {
    if (matchMedia('(max-width: 620px)').matches) return 52
    return matchMedia('(pointer: coarse)').matches ? 44 : 30
  }
  const [height, setHeight] = useState(measure)
  useEffect(() => {
    const update = () => setHeight(measure())
    addEventListener('resize', update)
    return () => removeEventListener('resize', update)
  }, [])
  return height
}

const isMotionReduced = () => matchMedia('(prefers-reduced-motion: reduce)').matches

export function ItemGrid(props: ItemGridProps) {
  const { list, container, columns, openKey, pendingKey, selection, isDeadList } = props
  const scroller = useRef<HTMLDivElement>(null)
  const head = useRef<HTMLDivElement>(null)
  const rowHeight = useRowHeight()
  const [viewHeight, setViewHeight] = useState(600)
  const [place, setPlace] = useState<ScrollPlace>({ scrollTop: 0, listTop: 0 })
  const [focusKey, setFocusKey] = useState<string>()
  const held = useRef({ pointer: '', focus: '' })
  const struck = useSignal<ReadonlySet<string>>(new Set())
  const folding = useSignal<readonly { item: ListedItem; index: number }[]>([])
  const isMoving = useSignal(false)

  const rows = list.rows.value
  const startIndex = list.startIndex.value
  const loadedEnd = startIndex + rows.length
  const isOver = list.isAtEnd.value || list.isPaused.value || list.isFull.value
  const total = isOver ? loadedEnd : Math.max(props.total, loadedEnd + 1)
  const extent = { total, rowHeight, viewHeight }
  const shown = rowsInView(extent, place)

  useLayoutEffect(() => {
    const element = scroller.current!
    // The head stands over the rows; narrow windows have none.
    const observer = new ResizeObserver(() => setViewHeight(element.clientHeight - head.current!.offsetHeight))
    observer.observe(element)
    return () => observer.disconnect()
  }, [])

  useEffect(() => props.onView({ top: shown.top, bottom: shown.bottom }), [shown.top, shown.bottom])

  // Pages follow the view; far jumps are the screen's to answer.
  useEffect(() => {
    if (list.isFirst.value || list.isLoading.value || list.error.value !== undefined) return
    if (shown.top < startIndex || shown.top > loadedEnd + aheadRows) props.onFar(shown.top)
    else if (shown.bottom + aheadRows > loadedEnd) void list.loadMore()
  }, [shown.top, shown.bottom, loadedEnd, list.isLoading.value, list.isFirst.value])

  // Before its first page is there: otherwise the place of the list before would be asked for.
  useLayoutEffect(() => {
    scroller.current!.scrollTop = 0
    setPlace({ scrollTop: 0, listTop: 0 })
  }, [list, list.generation.value])

  const letGo = () => {
    if (struck.peek().size === 0) return
    const leaving = [...struck.peek()].filter(key => key !== held.current.pointer && key !== held.current.focus)
    if (leaving.length === 0) return
    struck.value = new Set([...struck.peek()].filter(key => !leaving.includes(key)))
    fold(
      list.rows.peek().filter(({ key }) => leaving.includes(key)),
      true,
    )
  }

  /** Takes rows out: with a flash and a fold, or at once. */
  const fold = (dead: readonly ListedItem[], isAnimated: boolean) => {
    const keys = new Set(dead.map(({ key }) => key))
    if (!isAnimated || isMotionReduced()) {
      list.remove(keys)
      return
    }
    const all = list.rows.peek()
    setTimeout(() => {
      const leaving = all.flatMap((item, index) => (keys.has(item.key) ? [{ item, index: startIndex + index }] : []))
      folding.value = leaving
      isMoving.value = true
      list.remove(keys)
      setTimeout(() => {
        folding.value = []
        isMoving.value = false
      }, foldMs)
    }, flashMs)
  }

  const lastJump = useRef(jumps.peek())
  useSignalEffect(() => {
    const nowMs = eachSecond.value
    if (isDeadList) return
    const isJump = lastJump.current !== jumps.value
    lastJump.current = jumps.value
    const dead = list.rows
      .peek()
      .filter(({ key, deadline }) => deadline !== null && deadline * 1000 <= nowMs && !struck.peek().has(key))
    if (dead.length === 0) return
    props.onDeaths(dead.length)
    const { pointer, focus } = held.current
    const kept = dead.filter(({ key }) => key === pointer || (key === focus && document.activeElement?.closest('.gr')))
    if (kept.length > 0) struck.value = new Set([...struck.peek(), ...kept.map(({ key }) => key)])
    const leaving = dead.filter(item => !kept.includes(item))
    fold(leaving, leaving.length <= foldsMax && !isJump && clockMode.peek() === 'system')
  })

  const handlers: RowHandlers = {
    open: (item, isWide) => {
      setFocusKey(item.key)
      props.onOpen(item, isWide)
    },
    select: props.onSelect,
    explain: props.onExplain,
    hold: (key, isHeld) => {
      held.current.pointer = isHeld ? key : ''
      if (!isHeld) letGo()
    },
  }

  const reveal = (index: number) => {
    const next = revealRow(extent, place, index)
    if (next === place) return
    scroller.current!.scrollTop = next.scrollTop
    setPlace(next)
  }
  const focusRow = (key: string) => {
    setFocusKey(key)
    requestAnimationFrame(() => {
      scroller.current?.querySelector<HTMLElement>(`[data-key="${CSS.escape(key)}"]`)?.focus({ preventScroll: true })
    })
  }

  const sorted = sortMarks[list.state.order]
  const tracks = trackSizes(columns)
  const inDocument = rows.slice(Math.max(0, shown.first - startIndex), Math.max(0, shown.end - startIndex))
  const firstIndex = Math.max(startIndex, shown.first)
  const focusable = focusKey && rows.some(({ key }) => key === focusKey) ? focusKey : inDocument[0]?.key
  // From anywhere on the screen into the grid. Inside of it `moveInGrid` has these keys.
  const enter = () => {
    if (focusable !== undefined) focusRow(focusable)
  }
  useKeys({ j: enter, k: enter })

  return (
    <div
      class={isMoving.value ? 'grid is-moving' : 'grid'}
      role="grid"
      aria-label={props.label}
      aria-rowcount={total + 1}
      // Before its rows have come it can be scrolled, too.
      tabIndex={focusable === undefined ? 0 : undefined}
      ref={scroller}
      style={{ '--cols': tracks.wide, '--cols-m': tracks.medium, '--cols-s': tracks.narrow }}
      onScroll={event => {
        const { scrollTop } = event.currentTarget
        setPlace(before => moveTo(extent, before, scrollTop))
      }}
      onKeyDown={event =>
        moveInGrid(event, {
          rows,
          startIndex,
          focusKey: focusable,
          pageRows: Math.max(1, shown.bottom - shown.top - 1),
          focusRow,
          reveal,
          open: handlers.open,
          select: props.onSelect,
          explain: props.onExplain,
        })
      }
      onFocusCapture={event => {
        const key = (event.target as HTMLElement).closest<HTMLElement>('.gr[data-key]')?.dataset.key
        held.current.focus = key ?? ''
        if (key !== undefined) setFocusKey(key)
        letGo()
      }}
      onBlurCapture={() => {
        held.current.focus = ''
        letGo()
      }}
    >
      <div class="gr hd" role="row" aria-rowindex={1} ref={head}>
        <span class="c-sel" role="columnheader">
          <input
            type="checkbox"
            aria-label="Select all"
            checked={selection.isAll}
            onClick={event => {
              event.stopPropagation()
              props.onSelectAll()
            }}
          />
        </span>
        <span class="c-id" role="columnheader">
          {container.api === 'mongo' ? '_id' : 'id'}
        </span>
        {columns
          .filter(({ kind }) => kind !== 'written' && kind !== 'size')
          .map(column => (
            <Head key={`${column.kind} ${column.name}`} column={column} />
          ))}
        <span class={sorted ? 'c-exp sorted' : 'c-exp'} role="columnheader" aria-sort={sorted?.name ?? 'none'}>
          <span class="num">{isDeadList ? 'died' : 'expires in'}</span>
          {sorted && <span class="sort-mark">{sorted.mark}</span>}
        </span>
        {columns
          .filter(({ kind }) => kind === 'written' || kind === 'size')
          .map(column => (
            <Head key={`${column.kind} ${column.name}`} column={column} />
          ))}
      </div>
      <div class="grid-rows" role="rowgroup" style={{ height: `${scrollHeight(extent)}px` }}>
        {inDocument.map((item, index) => (
          <ItemRow
            key={item.key}
            item={item}
            index={firstIndex + index}
            offset={rowOffset(firstIndex + index, rowHeight, place)}
            columns={columns}
            container={container}
            isOpen={item.key === openKey}
            isChecked={selection.has(item.key)}
            isFocused={item.key === focusable}
            isStruck={struck.value.has(item.key)}
            isPending={item.key === pendingKey}
            handlers={handlers}
          />
        ))}
        {folding.value.map(({ item, index }) => (
          <FoldingRow
            key={`folding ${item.key}`}
            item={item}
            offset={rowOffset(index, rowHeight, place)}
            columns={columns}
          />
        ))}
      </div>
      {list.isFirst.value && list.isLoading.value && <GridGhost />}
    </div>
  )
}

function Head({ column }: { column: Column }) {
  if (column.kind === 'ttl') {
    return (
      <span class="c-ttl" role="columnheader">
        <span>ttl</span>
        <span class="sr">source</span>
      </span>
    )
  }
  const name = { written: 'c-ts c-num', size: 'c-size c-num', key: 'c-pk', value: 'c-pk' }[column.kind]
  return (
    <span class={name} role="columnheader" title={column.kind === 'value' ? column.path : undefined}>
      {column.name}
    </span>
  )
}

/** Six grey rows, only when the first page takes its time. */
function GridGhost() {
  return (
    <div class="ghosts grid-ghosts" aria-hidden="true">
      {[240, 320, 280, 360, 300, 260].map(width => (
        <i key={width} style={{ width: `${width}px` }} />
      ))}
    </div>
  )
}
