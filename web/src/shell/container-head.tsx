/** The header of a container: its name, facts, actions, and the tabs of its screens. */

import { useEffect } from 'preact/hooks'
import { getContainer } from '../api/calls.ts'
import type { Container } from '../api/shapes.ts'
import { Icon } from '../components/icon.tsx'
import { Menu } from '../components/menu.tsx'
import { moveFocus } from '../components/roving.ts'
import { ttlTitle } from '../components/ttl-badge.tsx'
import { containerDetails } from '../containers/container-details.ts'
import { openDeleteContainer } from '../containers/delete-container.tsx'
import { itemsWord, itemWord, partitionKeyText, placeWord, throughputText, ttlText } from '../containers/words.ts'
import { useRefresh } from '../live/refresh.ts'
import { mayWrite } from '../live/server-state.ts'
import { goToScreen } from '../navigation/router.ts'
import { addressOf, type ContainerRoute } from '../navigation/routes.ts'
import { bytesText, count } from '../text/number-text.ts'
import { labelOf, screensOf } from './screens.ts'

export function ContainerHead({ route, container }: { route: ContainerRoute; container: Container }) {
  const { database } = route
  const { id, api, living } = container
  const files = { database, container: id }
  const details = containerDetails.value
  const here = details?.id === id ? details : undefined
  useEffect(() => {
    containerDetails.value = undefined
  }, [database, id])
  useRefresh(
    async signal => {
      try {
        containerDetails.value = await getContainer(route, signal)
      } catch (error) {
        if (signal.aborted) throw error
        // Without it the header has no size.
        containerDetails.value = undefined
      }
    },
    { gapMs: 2000, events: ['counts'] },
    [database, id],
  )
  const importFile = async () =>
    (await import('../screens/import-export/import-dialog.tsx')).openImport({ name: files, api })
  const exportItems = async () =>
    (await import('../screens/import-export/export-dialog.tsx')).openExport({ name: files, container })
  const newItem = () => goToScreen('items', { item: 'new' })
  return (
    <div class="chead">
      <div class="chead-row">
        <h1 title={`${database} / ${id}`}>
          <span>{database} / </span>
          {id}
        </h1>
        <ul class="facts">
          <li>
            <span class={container.partitionKey.length > 0 ? 'mono' : ''}>{partitionKeyText(container)}</span>
          </li>
          <li>
            {container.isAbout && 'about '}
            {count(living)} {living === 1 ? itemWord(api) : itemsWord(api)}
          </li>
          {here && <li title="About right">{bytesText(here.bytes)}</li>}
          <li>{throughputText(container.throughput)}</li>
          <li title={ttlTitle(container.ttl)}>
            TTL <b class={container.ttl.kind === 'off' ? 'm' : 'life m'}>{ttlText(container.ttl)}</b>
          </li>
        </ul>
        <span class="grow" />
        {mayWrite.value && (
          <>
            <button type="button" class="btn hide-m" onClick={importFile}>
              <Icon name="import" />
              Import
            </button>
            <button type="button" class="btn hide-m" onClick={newItem}>
              <Icon name="add" />
              New {itemWord(api)}
            </button>
            <button type="button" class="icon onlym" aria-label={`New ${itemWord(api)}`} onClick={newItem}>
              <Icon name="add" />
            </button>
            <Menu
              label={`More actions for ${id}`}
              entries={[
                { label: 'Import a file…', run: () => void importFile() },
                { label: 'Export…', run: () => void exportItems() },
                'line',
                {
                  label: `Delete ${placeWord(api)}…`,
                  isDanger: true,
                  run: () => openDeleteContainer(database, container, here),
                },
              ]}
            >
              <Icon name="more" />
            </Menu>
          </>
        )}
      </div>
      <div class="tabs" role="tablist" aria-label={id} onKeyDown={event => moveFocus(event, '[role=tab]')}>
        {screensOf(api).map(screen => {
          const isHere = screen.name === route.screen
          return (
            <a
              key={screen.name}
              role="tab"
              tabIndex={isHere ? 0 : -1}
              aria-selected={isHere}
              href={addressOf({ name: 'container', database, container: id, screen: screen.name })}
            >
              {labelOf(screen, api)}
            </a>
          )
        })}
      </div>
    </div>
  )
}
