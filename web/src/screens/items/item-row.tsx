/** One row of the grid. */

import type { Container, ListedItem } from '../../api/shapes.ts'
import { useLifeClock } from '../../components/countdown.tsx'
import { ExpiresCell } from '../../components/expires-cell.tsx'
import { urgencyClass, urgencyOf } from '../../components/life.ts'
import { cellText } from '../../text/cell-text.ts'
import { shortId } from '../../text/id-text.ts'
import { bytesText } from '../../text/number-text.ts'
import { shortTime } from '../../time/time-text.ts'
import { isoText, zone } from '../../time/zone.ts'
import type { Column } from './columns.ts'

export interface RowHandlers {
  open: (item: ListedItem, isWide: boolean) => void
  select: (item: ListedItem, isRange: boolean) => void
  hold: (key: string, isHeld: boolean) => void
  explain: (item: ListedItem) => void
}

interface ItemRowProps {
  item: ListedItem
  index: number
  offset: number
  columns: readonly Column[]
  container: Pick<Container, 'defaultTtl' | 'ttl'>
  isOpen: boolean
  isChecked: boolean
  isFocused: boolean
  /** Died while somebody held it: struck until it is let go. */
  isStruck: boolean
  /** Waits for the server's answer to a new life. */
  isPending: boolean
  handlers: RowHandlers
}

/** The ttl that counts for an item, and whose it is. */
export function ttlOf(
  { ttl, rule }: Pick<ListedItem, 'ttl' | 'rule'>,
  { defaultTtl, ttl: { kind } }: Pick<Container, 'defaultTtl' | 'ttl'>,
): { ttl: string; source: string } {
  if (kind === 'date') return { ttl: '–', source: rule === 'own' ? 'date' : '' }
  if (ttl !== null) return { ttl: String(ttl), source: rule === 'off' ? 'only data' : 'own' }
  if (rule === 'final') return { ttl: '–', source: '' }
  if (defaultTtl !== null && defaultTtl > 0) return { ttl: String(defaultTtl), source: 'inherited' }
  return { ttl: '–', source: '' }
}

function partText(value: unknown): string {
  return typeof value === 'object' && value !== null && Object.keys(value).length === 0 ? '–' : (cellText(value) ?? '–')
}

function pathValue({ values }: ListedItem, column: Column): unknown {
  return column.kind === 'value' ? values[column.path] : undefined
}

function Cell({
  column,
  item,
  nowMs,
  ttl,
}: {
  column: Column
  item: ListedItem
  nowMs: number
  ttl: { ttl: string; source: string }
}) {
  if (column.kind === 'ttl') {
    return (
      <span class="c-ttl" role="gridcell">
        <span>{ttl.ttl}</span>
        <i>{ttl.source}</i>
      </span>
    )
  }
  if (column.kind === 'written') {
    return (
      <span class="c-ts c-num t2" role="gridcell" title={isoText(item.ts * 1000)}>
        {shortTime(item.ts * 1000, nowMs, zone())}
      </span>
    )
  }
  if (column.kind === 'size') {
    return (
      <span class="c-size c-num t2" role="gridcell">
        {bytesText(item.bytes)}
      </span>
    )
  }
  const text = column.kind === 'key' ? partText(item.partitionKey[column.level]) : cellText(pathValue(item, column))
  return (
    <span class="c-pk mono t2" role="gridcell" title={text}>
      {text}
    </span>
  )
}

export function ItemRow(props: ItemRowProps) {
  const { item, index, offset, columns, container, isOpen, isChecked, isFocused, isStruck, isPending, handlers } = props
  const nowMs = useLifeClock(item).value || item.ts * 1000
  const urgency = item.isDead ? 'dead' : urgencyOf(item, nowMs)
  const ttl = ttlOf(item, container)
  const look = isStruck ? 'died' : urgency === 'dead' && !item.isDead ? 'died' : urgencyClass[urgency]
  const first = columns.find(({ kind }) => kind === 'key' || kind === 'value')
  const firstText =
    first?.kind === 'key'
      ? partText(item.partitionKey[first.level])
      : first?.kind === 'value'
        ? cellText(item.values[first.path])
        : undefined
  return (
    // biome-ignore lint/a11y/useKeyWithClickEvents: the grid takes the keys of its rows.
    <div
      class={`gr ${look}${isOpen ? ' sel' : ''}${isPending ? ' pending' : ''}`}
      role="row"
      aria-rowindex={index + 2}
      aria-selected={isOpen}
      tabIndex={isFocused ? 0 : -1}
      data-key={item.key}
      style={{ transform: `translateY(${offset}px)` }}
      onClick={event => handlers.open(item, event.detail > 1)}
      onPointerEnter={() => handlers.hold(item.key, true)}
      onPointerLeave={() => handlers.hold(item.key, false)}
    >
      <span class="c-sel" role="gridcell">
        <input
          type="checkbox"
          aria-label={`Select ${item.id}`}
          tabIndex={-1}
          checked={isChecked}
          onClick={event => {
            event.stopPropagation()
            handlers.select(item, event.shiftKey)
          }}
        />
      </span>
      <span class="c-id mono" role="gridcell" title={item.id}>
        {shortId(item.id)}
      </span>
      {columns
        .filter(({ kind }) => kind !== 'written' && kind !== 'size')
        .map(column => (
          <Cell key={`${column.kind} ${column.name}`} column={column} item={item} nowMs={nowMs} ttl={ttl} />
        ))}
      {look === 'died' ? (
        <span class="c-exp" role="gridcell">
          <span class="num">died now</span>
          <span>
            <button
              type="button"
              class="why"
              tabIndex={-1}
              onClick={event => {
                event.stopPropagation()
                handlers.explain(item)
              }}
            >
              Why?
            </button>
          </span>
        </span>
      ) : (
        <ExpiresCell
          life={item}
          nowMs={nowMs}
          urgency={urgency}
          source={`${ttl.source} ttl ${ttl.ttl}`}
          role="gridcell"
        />
      )}
      {columns
        .filter(({ kind }) => kind === 'written' || kind === 'size')
        .map(column => (
          <Cell key={`${column.kind} ${column.name}`} column={column} item={item} nowMs={nowMs} ttl={ttl} />
        ))}
      <span class="c-sub" aria-hidden="true">
        {[firstText, ttl.source && `${ttl.ttl} ${ttl.source}`].filter(Boolean).join(' · ')}
      </span>
    </div>
  )
}

/** A row on its way out: struck, then folded, by one animation. */
interface FoldingProps {
  item: ListedItem
  offset: number
  columns: readonly Column[]
}

export function FoldingRow({ item, offset, columns }: FoldingProps) {
  const before = columns.filter(({ kind }) => kind !== 'written' && kind !== 'size')
  return (
    <div class="gr died folding" aria-hidden="true" style={{ '--y': `${offset}px` }}>
      <span class="c-sel" />
      <span class="c-id mono">{shortId(item.id)}</span>
      {before.map(({ name, kind }) => (
        <span key={name} class={kind === 'ttl' ? 'c-ttl' : 'c-pk'} />
      ))}
      <span class="c-exp">
        <span class="num">died</span>
        <span />
      </span>
    </div>
  )
}
