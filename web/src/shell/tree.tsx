/** The tree of databases, containers and collections, with living counts, TTL badges, and who dies next. */

import { useEffect, useRef } from 'preact/hooks'
import type { Container, Database } from '../api/shapes.ts'
import { Countdown } from '../components/countdown.tsx'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { TtlBadge } from '../components/ttl-badge.tsx'
import { openDeleteDatabase } from '../containers/delete-container.tsx'
import { openNewContainer } from '../containers/new-container.tsx'
import { countedItems, throughputText } from '../containers/words.ts'
import { connection } from '../live/connection.ts'
import { databases, mayWrite } from '../live/server-state.ts'
import { route, shown } from '../navigation/router.ts'
import { addressOf, base } from '../navigation/routes.ts'
import { shortId } from '../text/id-text.ts'
import { count, shortCount } from '../text/number-text.ts'
import { folded, isDrawerOpen, setFolded, treeSearch } from './tree-state.ts'

/** The four that die next, of all containers. */
const nextMax = 4

function ContainerRow({ database, container, isFirst }: { database: string; container: Container; isFirst: boolean }) {
  const now = shown.value
  const isCurrent = now?.database === database && now.container === container.id
  const screen = isCurrent ? now.screen : 'items'
  const about = container.isAbout ? 'about ' : ''
  const facts = `${about}${countedItems(container.living, container.api)}, ${throughputText(container.throughput)}`
  return (
    <li>
      <a
        class="trow kid"
        href={addressOf({ name: 'container', database, container: container.id, screen })}
        aria-current={isCurrent ? 'page' : undefined}
        tabIndex={isCurrent || isFirst ? 0 : -1}
        title={`${container.id}: ${facts}`}
      >
        <Icon name={container.api === 'mongo' ? 'collection' : 'container'} small />
        <span class="n">{container.id}</span>
        <span class="c" title={count(container.living)}>
          {shortCount(container.living)}
        </span>
        <TtlBadge ttl={container.ttl} />
      </a>
    </li>
  )
}

function DatabaseRows({ database, isFirst, search }: { database: Database; isFirst: boolean; search: string }) {
  const isOpen = search !== '' || !folded.value.has(database.id)
  const current = shown.value
  const containers = database.containers.filter(({ id }) => id.toLowerCase().includes(search))
  return (
    <li>
      <div class="trow db">
        <button
          type="button"
          class="trow-fold"
          aria-expanded={isOpen}
          tabIndex={isFirst && !current ? 0 : -1}
          onClick={() => setFolded(database.id, isOpen)}
        >
          <Icon name={isOpen ? 'down' : 'right'} small />
          <Icon name="database" />
          <span class="n">{database.id}</span>
        </button>
        {mayWrite.value && (
          <Menu
            label={`Actions for ${database.id}`}
            class="icon trow-menu"
            entries={[
              { label: 'New container…', run: () => openNewContainer(database.id) },
              'line',
              { label: 'Delete database…', isDanger: true, run: () => openDeleteDatabase(database) },
            ]}
          >
            <Icon name="more" small />
          </Menu>
        )}
      </div>
      {isOpen && (
        <ul aria-label={database.id}>
          {containers.map(container => (
            <ContainerRow key={container.id} database={database.id} container={container} isFirst={false} />
          ))}
          {database.containers.length === 0 && <li class="trow kid t3 trow-empty">no containers yet</li>}
        </ul>
      )}
    </li>
  )
}

/** One stop for Tab; arrows move, right and left open and fold. */
function moveInTree(event: KeyboardEvent): void {
  const tree = event.currentTarget as HTMLElement
  const rows = [...tree.querySelectorAll<HTMLElement>('.trow-fold, a.trow')]
  const at = rows.indexOf(document.activeElement as HTMLElement)
  const row = rows[at]
  if (!row) return
  const go = (to: number) => rows[Math.max(0, Math.min(rows.length - 1, to))]?.focus()
  const isDatabase = row.classList.contains('trow-fold')
  const name = row.querySelector('.n')?.textContent ?? ''
  if (event.key === 'ArrowDown') go(at + 1)
  else if (event.key === 'ArrowUp') go(at - 1)
  else if (event.key === 'Home') go(0)
  else if (event.key === 'End') go(rows.length - 1)
  else if (event.key === 'ArrowRight' && isDatabase) {
    if (folded.peek().has(name)) setFolded(name, false)
    else go(at + 1)
  } else if (event.key === 'ArrowLeft') {
    if (isDatabase) setFolded(name, true)
    else go(rows.findLastIndex((each, index) => index < at && each.classList.contains('trow-fold')))
  } else return
  event.preventDefault()
}

interface NextRow {
  database: string
  container: Container
  deadline: number
}

/** The soonest deaths of all containers. */
function nextToDie(all: readonly Database[]): NextRow[] {
  return all
    .flatMap(({ id, containers }) =>
      containers.flatMap(container =>
        container.next ? [{ database: id, container, deadline: container.next.deadline }] : [],
      ),
    )
    .toSorted((a, b) => a.deadline - b.deadline)
    .slice(0, nextMax)
}

function NextToDie({ all }: { all: readonly Database[] }) {
  const rows = nextToDie(all)
  if (rows.length === 0) return null
  return (
    <section class="nextup" aria-label="Next to die">
      <h2>Next to die{connection.value === 'lost' && ', stopped'}</h2>
      <ul>
        {rows.map(({ database, container, deadline }) => {
          const { id, key } = container.next!
          const href = addressOf({ name: 'container', database, container: container.id, params: { item: key } })
          return (
            <li key={`${database}/${container.id}`}>
              <a class="mono" href={href} title={`${database} / ${container.id}: ${id}`}>
                {container.id} {shortId(id)}
              </a>
              <Countdown deadline={deadline} />
            </li>
          )
        })}
      </ul>
    </section>
  )
}

function TreeSearch() {
  const ref = useRef<HTMLInputElement>(null)
  useEffect(() => ref.current?.focus(), [])
  return (
    <label class="field soft tree-search">
      <span class="sr">Find a container</span>
      <input
        ref={ref}
        placeholder="Find a container"
        value={treeSearch.value ?? ''}
        onInput={event => {
          treeSearch.value = event.currentTarget.value
        }}
        onKeyDown={event => {
          if (event.key === 'Escape') treeSearch.value = undefined
        }}
      />
    </label>
  )
}

export function Tree() {
  const all = databases.value
  const search = (treeSearch.value ?? '').trim().toLowerCase()
  // The drawer closes when its choice is made.
  useEffect(() => {
    isDrawerOpen.value = false
  }, [route.value])
  const shownDatabases = (all ?? []).filter(
    ({ id, containers }) =>
      id.toLowerCase().includes(search) || containers.some(each => each.id.toLowerCase().includes(search)),
  )
  return (
    <nav class="tree" aria-label="Databases" id="tree">
      <div class="tree-head">
        <h2>Databases</h2>
        <button
          type="button"
          class="icon"
          aria-label="Find in tree"
          title="Find in tree"
          aria-expanded={treeSearch.value !== undefined}
          onClick={() => {
            treeSearch.value = treeSearch.value === undefined ? '' : undefined
          }}
        >
          <Icon name="search" />
        </button>
        {mayWrite.value && (
          <button
            type="button"
            class="icon"
            aria-label="New database or container"
            title="New database or container"
            onClick={() => openNewContainer(shown.peek()?.database)}
          >
            <Icon name="add" />
          </button>
        )}
      </div>
      {treeSearch.value !== undefined && <TreeSearch />}
      <div class="tree-scroll">
        {all === undefined ? (
          <TreeGhost />
        ) : all.length === 0 ? (
          <p class="tree-empty t3">
            No databases yet. <a href={base}>Connect, or make the demo</a>
          </p>
        ) : (
          <ul aria-label="Databases" onKeyDown={moveInTree}>
            {shownDatabases.map((database, index) => (
              <DatabaseRows key={database.id} database={database} isFirst={index === 0} search={search} />
            ))}
          </ul>
        )}
        {all && all.length > 0 && shownDatabases.length === 0 && (
          <p class="tree-empty t3">No container has this name.</p>
        )}
      </div>
      {all && <NextToDie all={all} />}
    </nav>
  )
}

/** Six grey rows, shown only when the answer takes its time. */
function TreeGhost() {
  return (
    <div class="ghosts" aria-hidden="true">
      {[70, 120, 96, 132, 84, 110].map(width => (
        <i key={width} style={{ width: `${width}px` }} />
      ))}
    </div>
  )
}
