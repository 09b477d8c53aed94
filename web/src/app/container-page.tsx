/** The page of one container: its header with facts and tabs, and the screen below. */

import type { ComponentType } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { databases, findContainer } from '../live/store.ts'
import { DropZone } from '../screens/import/drop-zone.tsx'
import { ContainerHead } from './container-head.tsx'
import { useKeys } from './keyboard.ts'
import { NotFound } from './not-found.tsx'
import { goToScreen } from './router.ts'
import type { ContainerRoute } from './routes.ts'
import { type ScreenProps, screensOf } from './screens.ts'

const loaded = new Map<string, ComponentType<ScreenProps>>()

/** The code of a screen; undefined while it is on its way, an error if it did not come. */
function useScreen(name: string, load: (() => Promise<ComponentType<ScreenProps>>) | undefined) {
  const [state, setState] = useState<{ name: string; error?: unknown }>()
  useEffect(() => {
    if (!load || loaded.has(name)) return
    let isWanted = true
    load().then(
      screen => {
        loaded.set(name, screen)
        if (isWanted) setState({ name })
      },
      error => {
        if (isWanted) setState({ name, error })
      },
    )
    return () => {
      isWanted = false
    }
  }, [name, load === undefined])
  return { Screen: loaded.get(name), error: state?.name === name ? state.error : undefined }
}

export function ContainerPage({ route }: { route: ContainerRoute }) {
  const container = findContainer(route)
  const entries = container ? screensOf(container.api) : []
  const entry = entries.find(({ name }) => name === route.screen)
  const { Screen, error } = useScreen(route.screen, entry?.load)
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
      {error !== undefined && (
        <p class="pad danger">The page did not load this screen. Reload the page to get the present version.</p>
      )}
      {!entry && <p class="pad t2">This screen is not for collections of MongoDB.</p>}
      {Screen && entry && <Screen key={`${route.database}/${route.container}`} route={route} container={container} />}
    </section>
  )
}
