/** The first items that the brush covers, the soonest first, each with its end and what decides it. */

import { useState } from 'preact/hooks'
import { getItems } from '../../api/calls.ts'
import type { Container, ContainerName, ListedItem } from '../../api/shapes.ts'
import { useLifeClock } from '../../components/countdown.tsx'
import { ExpiresCell } from '../../components/expires-cell.tsx'
import { urgencyClass, urgencyOf } from '../../components/life.ts'
import { Refusal } from '../../components/refusal.tsx'
import { partitionKeyText } from '../../containers/words.ts'
import { useRefresh } from '../../live/refresh.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count } from '../../text/number-text.ts'
import { itemNowMs } from '../../time/clock.ts'
import { fullTime } from '../../time/time-text.ts'
import { zone } from '../../time/zone.ts'
import type { Span } from './buckets.ts'

/** More are shown in the grid. */
const shownMax = 50
/** Items come and go; the list need not show each of them at once. */
const gapMs = 2_000

interface BrushedItemsProps {
  name: ContainerName
  container: Container
  span: Span
  total: number
}

export function BrushedItems({ name, container, span: { from, to }, total }: BrushedItemsProps) {
  const [items, setItems] = useState<readonly ListedItem[] | undefined>()
  const [error, setError] = useState<unknown>()
  useRefresh(
    async signal => {
      try {
        const page = await getItems(name, { order: 'soonest', from, to, limit: shownMax }, signal)
        setItems(page.items)
        setError(undefined)
      } catch (thrown) {
        if (signal.aborted) throw thrown
        setError(thrown)
      }
    },
    { gapMs, events: ['counts'] },
    [name.database, name.container, from, to],
  )
  if (error !== undefined) return <Refusal error={error} />
  if (items === undefined || items.length === 0) return null
  const params = { from: String(from), to: String(to) }
  return (
    <div class="expiry-list">
      <table class="tbl" aria-label={`${container.api === 'mongo' ? 'Documents' : 'Items'} that die then`}>
        <thead>
          <tr>
            <th scope="col">{container.api === 'mongo' ? '_id' : 'id'}</th>
            <th scope="col" class="hide-m">
              {partitionKeyText(container)}
            </th>
            <th scope="col">by</th>
            <th scope="col">dies at</th>
            <th scope="col" class="hide-m">
              expires in
            </th>
          </tr>
        </thead>
        <tbody>
          {items.map(item => (
            <Row key={item.key} name={name} item={item} isByDate={container.ttl.kind === 'date'} />
          ))}
        </tbody>
      </table>
      {total > items.length && (
        <p class="t2 cpad">
          The first {count(items.length)}.{' '}
          <a class="link" href={addressOf({ name: 'container', ...name, screen: 'items', params })}>
            All {count(total)}
          </a>
        </p>
      )}
    </div>
  )
}

function Row({ name, item, isByDate }: { name: ContainerName; item: ListedItem; isByDate: boolean }) {
  const nowMs = useLifeClock(item).value || itemNowMs()
  const urgency = urgencyOf(item, nowMs)
  const by = item.rule !== 'own' ? 'inherited' : isByDate ? 'a date in it' : `own ttl ${item.ttl ?? ''}`
  return (
    <tr class={urgencyClass[urgency]}>
      <td class="mono">
        <a href={addressOf({ name: 'container', ...name, screen: 'items', params: { item: item.key } })}>{item.id}</a>
      </td>
      <td class="mono t2 hide-m">
        {item.partitionKey.map(part => (typeof part === 'string' ? part : JSON.stringify(part))).join(', ')}
      </td>
      <td class="t2">{by}</td>
      <td>{item.deadline === null ? 'never' : fullTime(item.deadline * 1000, nowMs, zone())}</td>
      <td class="hide-m">
        <ExpiresCell life={item} nowMs={nowMs} urgency={urgency} source="" />
      </td>
    </tr>
  )
}
