/** The line below the grid: its order, recent deaths, waiting rows and matches; or the selection. */

import type { ListOrder } from '../../api/calls.ts'
import type { Container, Filter } from '../../api/shapes.ts'
import { Icon } from '../../components/icon.tsx'
import { Menu } from '../../components/menu.tsx'
import { countedItems, itemsWord } from '../../containers/words.ts'
import { mayWrite } from '../../live/server-state.ts'
import { count } from '../../text/number-text.ts'
import { clockMode, itemNowMs } from '../../time/clock.ts'
import { fullTime } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import { type ItemList, rowsMax } from './item-list.ts'
import type { Selection } from './selection.ts'

const orderLabels: Readonly<Record<ListOrder, string>> = {
  soonest: 'Soonest first',
  latest: 'Latest first',
  natural: 'By key',
  newest: 'Newest first',
  oldest: 'Oldest first',
}

/** The order that begins where another one ends. */
const opposites: Readonly<Partial<Record<ListOrder, ListOrder>>> = {
  soonest: 'latest',
  latest: 'soonest',
  newest: 'oldest',
  oldest: 'newest',
}

interface ListFootProps {
  list: ItemList
  container: Container
  order: ListOrder
  filter: Filter
  query: string
  from: number | undefined
  to: number | undefined
  matching: number | undefined
  isAbout: boolean
  died: number
  view: { top: number; bottom: number }
  selection: Selection
  onOrder: (order: ListOrder) => void
  onReload: () => void
  onClearBrush: () => void
  onClearSelection: () => void
  onDelete: () => void
}

/** `15 of 18,204 match`, `Rows 1 to 20 of 1,310`. */
function matchText({ list, container, query, matching, isAbout, view }: ListFootProps): string {
  const about = isAbout ? 'about ' : ''
  if (matching === undefined) return ''
  if (query !== '') return `${about}${count(matching)} of ${count(container.living)} match`
  const last = Math.min(matching, view.bottom, list.startIndex.value + list.rows.value.length)
  if (matching === 0) return ''
  return `Rows ${count(Math.min(view.top + 1, matching))} to ${count(last)} of ${about}${count(matching)}`
}

function Brush({ from, to, onClearBrush }: Pick<ListFootProps, 'from' | 'to' | 'onClearBrush'>) {
  if (from === undefined && to === undefined) return null
  const now = itemNowMs()
  const text = (seconds: number) => fullTime(seconds * 1000, now, zone())
  return (
    <span>
      {from !== undefined && to !== undefined
        ? `Dying between ${text(from)} and ${text(to)}`
        : from !== undefined
          ? `Dying after ${text(from)}`
          : `Dying until ${text(to!)}`}{' '}
      <button type="button" class="link" onClick={onClearBrush}>
        Show all
      </button>
    </span>
  )
}

/** Why scrolling ends before the list does, and what helps. */
function Limit({ list, filter, order, onOrder }: Pick<ListFootProps, 'list' | 'filter' | 'order' | 'onOrder'>) {
  if (list.isAtEnd.value) return null
  if (list.isPaused.value) {
    return (
      <span>
        Many were looked at, and none of them matches.{' '}
        <button type="button" class="link" onClick={() => void list.lookFurther()}>
          Look further
        </button>
      </span>
    )
  }
  if (!list.isFull.value) return null
  const opposite = filter === 'dead' ? undefined : opposites[order]
  return (
    <span>
      Scrolling ends after {count(rowsMax)} rows.{' '}
      {opposite && (
        <button type="button" class="link" onClick={() => onOrder(opposite)}>
          From the other end
        </button>
      )}
    </span>
  )
}

export function ListFoot(props: ListFootProps) {
  const { list, container, order, filter, died, selection, onOrder, onReload } = props
  const { api } = container
  if (!selection.isEmpty) return <SelectionFoot {...props} />
  const isManual = clockMode.value === 'manual'
  const waiting = list.newCount.value
  const isStale = list.isStale.value
  return (
    <div class="gfoot">
      {filter === 'dead' ? (
        <span class="hide-m">Latest death first</span>
      ) : (
        <Menu
          label={`Order: ${orderLabels[order]}`}
          class="order hide-m"
          entries={(Object.keys(orderLabels) as ListOrder[]).map(each => ({
            label: orderLabels[each],
            run: () => onOrder(each),
          }))}
        >
          {orderLabels[order]} <Icon name="down" small />
        </Menu>
      )}
      <Brush {...props} />
      <Limit {...props} />
      {isManual ? (
        <>
          <span class="t3 hide-m">|</span>
          <span class="hide-m">Time stands still. Nothing dies until you move the clock.</span>
        </>
      ) : (
        died > 0 && (
          <>
            <span class="t3 hide-m">|</span>
            <span>
              <b class="t1 m">{count(died)}</b> died while you watched
            </span>
          </>
        )
      )}
      {(waiting > 0 || isStale) && (
        <button type="button" class="link" onClick={onReload}>
          {isStale ? `New or changed ${itemsWord(api)}: show them` : `${count(waiting)} new`}
        </button>
      )}
      <span class="grow" />
      {list.isLoading.value && !list.isFirst.value && <span class="t3 hide-m">Loading…</span>}
      <span>{matchText(props)}</span>
    </div>
  )
}

function SelectionFoot({ selection, container, filter, matching, list, onClearSelection, onDelete }: ListFootProps) {
  const n = selection.count(matching ?? list.rows.value.length)
  const what = countedItems(n, container.api)
  const why = !mayWrite.value
    ? 'A read-only key cannot delete'
    : filter === 'dead'
      ? 'They are dead already: the purge removes them'
      : undefined
  return (
    <div class="gfoot selecting" role="status">
      <span>
        <b class="t1 m">{selection.isAll ? `All ${what} that match` : what}</b> selected
      </span>
      <button type="button" class="link" onClick={onClearSelection}>
        Clear
      </button>
      <span class="grow" />
      <button type="button" class="btn sm dgr" disabled={why !== undefined} title={why} onClick={onDelete}>
        Delete {what}…
      </button>
    </div>
  )
}
