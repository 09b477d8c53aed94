/** Where the page is: the route in the address bar as a signal, and the ways to go elsewhere. */

import { computed, effect, signal } from '@preact/signals'
import { addressOf, base, type ContainerRoute, type Route, readRoute, type ScreenName, titleOf } from './routes.ts'

const here = () => readRoute(location.pathname, location.search)

export const route = signal<Route>(here())

/** The container that is shown, by its name; undefined on other screens. */
export const shown = computed((): ContainerRoute | undefined =>
  route.value.name === 'container' ? route.value : undefined,
)

/** A screen with unsaved text may ask before it is left; it returns false to stay. */
let mayLeave: (() => boolean) | undefined

/** Asks before the screen is left, or before the tab is closed; returns what ends that. */
export function guardLeaving(guard: () => boolean): () => void {
  mayLeave = guard
  const stop = (event: BeforeUnloadEvent) => {
    event.preventDefault()
  }
  addEventListener('beforeunload', stop)
  return () => {
    if (mayLeave === guard) mayLeave = undefined
    removeEventListener('beforeunload', stop)
  }
}

/** Asks the screen with unsaved text; false: stay. */
export function canLeave(): boolean {
  return mayLeave === undefined || mayLeave()
}

/** Goes to an address of this page. `replace` leaves no trace in the history: for parameters. */
export function go(address: string, { replace = false } = {}): void {
  if (address === location.pathname + location.search) return
  const next = new URL(address, location.href)
  const isElsewhere = next.pathname !== location.pathname
  if (isElsewhere && !canLeave()) return
  if (replace) history.replaceState(null, '', address)
  else history.pushState(null, '', address)
  route.value = here()
}

/** Goes to a screen of the container that is shown. */
export function goToScreen(screen: ScreenName, params?: Record<string, string | undefined>): void {
  const now = shown.peek()
  if (now) go(addressOf({ ...now, screen, params: params ?? {} }))
}

/** Changes parameters of the present address; undefined removes one. */
export function setParams(changes: Record<string, string | undefined>, { replace = true } = {}): void {
  const params = new URLSearchParams(location.search)
  for (const [name, value] of Object.entries(changes)) {
    if (value) params.set(name, value)
    else params.delete(name)
  }
  const query = params.toString()
  go(`${location.pathname}${query && `?${query}`}`, { replace })
}

/** Links within the page need no request. Others, and those opened in a new tab, are the browser's. */
function followLink(event: MouseEvent): void {
  const link = event.target instanceof Element ? event.target.closest('a') : null
  const isPlain = event.button === 0 && !event.ctrlKey && !event.metaKey && !event.shiftKey && !event.altKey
  if (!link || !isPlain || event.defaultPrevented || link.target || link.hasAttribute('download')) return
  if (link.origin !== location.origin || !link.pathname.startsWith(base) || link.hash) return
  event.preventDefault()
  go(link.pathname + link.search)
}

addEventListener('popstate', () => {
  route.value = here()
})
document.addEventListener('click', followLink)
effect(() => {
  document.title = titleOf(route.value, location.host)
})
