/** The page of one container: its header with facts and tabs, and the screen below. */

import { connection } from '../live/connection.ts'
import { databases, findContainer } from '../live/server-state.ts'
import { useKeys } from '../navigation/keyboard.ts'
import { goToScreen } from '../navigation/router.ts'
import type { ContainerRoute } from '../navigation/routes.ts'
import { DropZone } from '../screens/import-export/drop-zone.tsx'
import { ContainerHead } from './container-head.tsx'
import { NotFound } from './not-found.tsx'
import { screensOf } from './screens.ts'
import { noScreenText, useScreen } from './use-screen.ts'

export function ContainerPage({ route }: { route: ContainerRoute }) {
  const container = findContainer(route)
  const entries = container ? screensOf(container.api) : []
  const entry = entries.find(({ name }) => name === route.screen)
  const { Screen, error } = useScreen(entry?.load)
  useKeys(
    Object.fromEntries(
      entries.flatMap(({ letter, name }) => (letter ? [[`g ${letter}`, () => goToScreen(name)]] : [])),
    ),
  )
  // The first paint does not wait for the tree.
  if (databases.value === undefined) return <div class="screen on" />
  if (!container) {
    return (
      <NotFound
        title={`There is no container ${route.database} / ${route.container}.`}
        text="It was deleted or renamed, or the server was started without its data."
      />
    )
  }
  return (
    <section class="screen on" aria-label={`${route.container}, ${route.screen}`}>
      <ContainerHead route={route} container={container} />
      <DropZone name={route} container={container} />
      {error !== undefined && <p class="pad danger">{noScreenText(error, connection.value === 'lost')}</p>}
      {!entry && <p class="pad t2">This screen is not for collections of MongoDB.</p>}
      {Screen && entry && <Screen key={`${route.database}/${route.container}`} route={route} container={container} />}
    </section>
  )
}
