/** Asks before a container or a database is deleted, and then leaves its screens. */

import { deleteContainer, deleteDatabase } from '../api/calls.ts'
import type { Container, ContainerDetails, Database } from '../api/shapes.ts'
import { Confirm } from '../components/confirm.tsx'
import { showToast } from '../components/toasts.tsx'
import { reloadTree } from '../live/server-state.ts'
import { showDialog } from '../navigation/dialogs.ts'
import { go, letGo, shown } from '../navigation/router.ts'
import { base } from '../navigation/routes.ts'
import { count, counted } from '../text/number-text.ts'
import { countedItems, placeWord } from './words.ts'

/** Leaves the screens of a container or database that was deleted. */
async function forget(database: string, container?: string): Promise<void> {
  const now = shown.peek()
  if (now?.database === database && (container === undefined || now.container === container)) {
    letGo()
    go(base)
  }
  await reloadTree()
}

function scriptsText({ scripts }: Partial<ContainerDetails>): string {
  if (!scripts) return ''
  const parts = [
    scripts.procedures > 0 && counted(scripts.procedures, 'stored procedure'),
    scripts.triggers > 0 && counted(scripts.triggers, 'trigger'),
    scripts.functions > 0 && counted(scripts.functions, 'function'),
  ].filter(part => part !== false)
  if (parts.length === 0) return ''
  return parts.length === 1 ? ` and ${parts[0]}` : `, ${parts.slice(0, -1).join(', ')} and ${parts.at(-1)}`
}

export function openDeleteContainer(database: string, container: Container, details?: ContainerDetails): void {
  const { id, api, living, ttl } = container
  const items = countedItems(living, api)
  showDialog(close => (
    <Confirm
      title={`Delete the ${placeWord(api)} ${id}?`}
      typed={id}
      label={living === 0 ? `Delete ${id}` : `Delete ${items}`}
      onClose={close}
      run={async () => {
        await deleteContainer({ database, container: id })
        await forget(database, id)
        showToast({ title: `${id} is deleted.` })
      }}
    >
      <p class="t2">
        This deletes{' '}
        <b class="t1">{living === 0 ? 'no living items' : `${count(living)} living ${items.split(' ')[1]}`}</b>
        {scriptsText(details ?? {})} at once. It cannot be undone.
      </p>
      {living > 0 && ttl.kind !== 'date' && (
        <p class="t2">If you only want it empty, let its items die: set TTL to 1 second.</p>
      )}
    </Confirm>
  ))
}

export function openDeleteDatabase({ id, containers }: Database): void {
  const living = containers.reduce((sum, each) => sum + each.living, 0)
  showDialog(close => (
    <Confirm
      title={`Delete the database ${id}?`}
      typed={id}
      label={living === 0 ? `Delete ${id}` : `Delete ${counted(living, 'item')}`}
      onClose={close}
      run={async () => {
        await deleteDatabase(id)
        await forget(id)
        showToast({ title: `${id} is deleted.` })
      }}
    >
      <p class="t2">
        This deletes{' '}
        <b class="t1">
          {counted(containers.length, 'container')} with {counted(living, 'living item')}
        </b>{' '}
        at once. It cannot be undone.
      </p>
    </Confirm>
  ))
}
