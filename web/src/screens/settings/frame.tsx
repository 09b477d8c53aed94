/** What every part of the settings stands in: the list of parts beside it, the save bar below it. */

import { type ComponentChildren, createContext, type JSX } from 'preact'
import { useContext } from 'preact/hooks'
import type { Container } from '../../api/shapes.ts'
import { containerDetails } from '../../containers/container-details.ts'
import { openDeleteContainer } from '../../containers/delete-container.tsx'
import { placeWord } from '../../containers/words.ts'
import { mayWrite } from '../../live/server-state.ts'
import { addressOf, type ContainerRoute } from '../../navigation/routes.ts'

export interface PartName {
  id: string
  label: string
}

export const FrameContext = createContext<{
  route: ContainerRoute
  container: Container
  parts: readonly PartName[]
  part: string
} | null>(null)

function PartList(): JSX.Element {
  const { route, container, parts, part } = useContext(FrameContext)!
  return (
    <nav class="subnav" aria-label="Settings">
      {parts.map(({ id, label }, index) => (
        <a
          key={id}
          href={addressOf({ ...route, params: { part: index === 0 ? undefined : id } })}
          aria-current={id === part ? 'page' : undefined}
        >
          {label}
        </a>
      ))}
      {mayWrite.value && (
        <button type="button" onClick={() => openDeleteContainer(route.database, container, containerDetails.peek())}>
          Delete {placeWord(container.api)}
        </button>
      )}
    </nav>
  )
}

interface FrameProps {
  title: string
  lead: ComponentChildren
  children?: ComponentChildren
  bar?: ComponentChildren
  onSave?: () => void
}

export function Frame({ title, lead, children, bar, onSave }: FrameProps): JSX.Element {
  return (
    <form
      class="settings-form"
      onSubmit={event => {
        event.preventDefault()
        onSave?.()
      }}
    >
      <div class="scroll">
        <div class="setgrid">
          <PartList />
          <div class="settings-body">
            <div class="settings-head">
              <h2>{title}</h2>
              <p>{lead}</p>
            </div>
            {children}
          </div>
        </div>
      </div>
      {bar}
    </form>
  )
}
