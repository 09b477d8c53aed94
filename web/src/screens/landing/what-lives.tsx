/** The table of all containers: living items, the next death, and deaths within the hour. */

import { Countdown } from '../../components/countdown.tsx'
import { Icon } from '../../components/icon.tsx'
import { TtlBadge } from '../../components/ttl-badge.tsx'
import { databases, overview } from '../../live/server-state.ts'
import { addressOf } from '../../navigation/routes.ts'
import { count, counted } from '../../text/number-text.ts'

export function WhatLives() {
  const rows = (databases.value ?? []).flatMap(database =>
    database.containers.map(container => ({ database: database.id, container })),
  )
  if (rows.length === 0) return null
  const living = rows.reduce((sum, { container }) => sum + container.living, 0)
  const empty = rows.filter(({ container }) => container.living === 0).length
  const withinHour = new Map(
    (overview.value?.containers ?? []).map(each => [`${each.database}/${each.container}`, each.withinHour]),
  )
  return (
    <section class="card lives" aria-labelledby="lives">
      <header>
        <h2 class="grow" id="lives">
          What lives here
        </h2>
        <span class="t2 fs12">
          <b class="t1 m">{count(living)}</b> {living === 1 ? 'item' : 'items'}.
          {empty > 0 && ` ${counted(empty, 'container is', 'containers are')} empty.`}
        </span>
      </header>
      <table class="tbl">
        <thead>
          <tr>
            <th class="lives-api">
              <span class="sr">API</span>
            </th>
            <th>container</th>
            <th class="r">items</th>
            <th>TTL</th>
            <th class="r">next death in</th>
            <th class="r hide-m">die within 1 h</th>
            <th class="r hide-m">dead but present</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ database, container }) => {
            const name = `${database}/${container.id}`
            const soon = withinHour.get(name)
            return (
              <tr key={name}>
                <td>
                  <Icon name={container.api === 'mongo' ? 'collection' : 'container'} small />
                  <span class="sr">{container.api === 'mongo' ? 'MongoDB' : 'Cosmos DB for NoSQL'}</span>
                </td>
                <td class="lives-name">
                  <span class="t3">{database} / </span>
                  <a href={addressOf({ name: 'container', database, container: container.id })}>{container.id}</a>
                </td>
                <td class="r">
                  {container.isAbout && 'about '}
                  {count(container.living)}
                </td>
                <td>
                  <TtlBadge ttl={container.ttl} />
                </td>
                <td class="r">
                  <Countdown deadline={container.next?.deadline ?? null} />
                </td>
                {/* It was counted a moment earlier than the living, some of whom may be dead by now. */}
                <td class="r hide-m">{soon === undefined ? '–' : count(Math.min(soon, container.living))}</td>
                <td class={`r hide-m ${container.dead > 0 ? 'dead' : 't3'}`}>{count(container.dead)}</td>
              </tr>
            )
          })}
        </tbody>
      </table>
    </section>
  )
}
