/** Where the page is: the route in the address bar as a signal, and the ways to go elsewhere. */

import { computed, effect, signal } from '@preact/signals'
import { addressOf, base, type ContainerRoute, type Route, readRoute, type ScreenName, titleOf } from './routes.ts'

const here = () => readRoute(location.pathname, location.search)

export const route = signal<Route>(here())

/** The container that is shown, by its name; undefined on other screens. */
export const shown = computed((): ContainerRoute | undefined =>
  route.value.name === 'container' ? route.value : undefined,
)

/** A screen with unsaved text may ask before it is left; `ask` returns false to stay. */
let guard: { ask: () => boolean; stop: (event: BeforeUnloadEvent) => void } | undefined

/** Asks before the text is left, or before the tab is closed; returns what ends that. */
export function guardLeaving(ask: () => boolean): () => void {
  letGo()
  const mine = { ask, stop: (event: BeforeUnloadEvent) => event.preventDefault() }
  guard = mine
  addEventListener('beforeunload', mine.stop)
  return () => {
    if (guard === mine) letGo()
  }
}

/** The text was saved, thrown away or taken along: there is nothing to ask. */
export function letGo(): void {
  if (guard) removeEventListener('beforeunload', guard.stop)
  guard = undefined
}

/** Asks the screen with unsaved text; false: stay. */
export function canLeave(): boolean {
  return guard === undefined || guard.ask()
}

/** Parameters that name what is open. Others change how it is shown, and no text is lost. */
const openParams = ['item', 'script', 'new', 'part']

let address = location.pathname + location.search

function mayGoTo(next: string): boolean {
  const [from, to] = [new URL(address, location.href), new URL(next, location.href)]
  const isSame = openParams.every(name => from.searchParams.get(name) === to.searchParams.get(name))
  return (isSame && from.pathname === to.pathname) || canLeave()
}

/** Goes to an address of this page. `replace` leaves no trace in the history: for parameters. */
export function go(next: string, { replace = false } = {}): void {
  if (next === address || !mayGoTo(next)) return
  if (replace) history.replaceState(null, '', next)
  else history.pushState(null, '', next)
  address = next
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
  const next = location.pathname + location.search
  // The browser has gone there already.
  if (!mayGoTo(next)) return history.pushState(null, '', address)
  address = next
  route.value = here()
})
document.addEventListener('click', followLink)
effect(() => {
  document.title = titleOf(route.value, location.host)
})
