/**
 * The addresses of the page's screens: every state that somebody may want to show has one.
 *
 *   /_explorer/                                 landing
 *   /_explorer/load                             the load of the whole server
 *   /_explorer/data/shop/sessions/items?…       a screen of a container, with its own parameters
 */

export const base = '/_explorer/'

export const screenNames = ['items', 'query', 'settings', 'expiry', 'load', 'feed', 'scripts'] as const
export type ScreenName = (typeof screenNames)[number]

export interface ContainerRoute {
  name: 'container'
  database: string
  container: string
  screen: ScreenName
  params: Readonly<Record<string, string>>
}

export type Route =
  | { name: 'landing'; params: Readonly<Record<string, string>> }
  | { name: 'load'; params: Readonly<Record<string, string>> }
  | ContainerRoute
  | { name: 'unknown'; path: string; params: Readonly<Record<string, string>> }

function decode(part: string): string {
  try {
    return decodeURIComponent(part)
  } catch {
    return part
  }
}

/** The route of an address; `unknown` if it is none of ours. */
export function readRoute(pathname: string, search = ''): Route {
  const params = Object.fromEntries(new URLSearchParams(search))
  const path = pathname.startsWith(base) ? pathname.slice(base.length) : ''
  const [first, database, container, screen = 'items', ...rest] = path.split('/').filter(Boolean).map(decode)
  if (first === undefined || path === 'index.html') return { name: 'landing', params }
  if (first === 'load' && database === undefined) return { name: 'load', params }
  const known = screenNames.find(name => name === screen)
  if (first === 'data' && database && container && known && rest.length === 0) {
    return { name: 'container', database, container, screen: known, params }
  }
  return { name: 'unknown', path: pathname, params }
}

/** The address of a route; parameters that are empty or undefined are left out. */
export function addressOf(
  route:
    | { name: 'landing' | 'load'; params?: Record<string, string | undefined> }
    | {
        name: 'container'
        database: string
        container: string
        screen?: ScreenName
        params?: Record<string, string | undefined>
      },
): string {
  const given = Object.entries(route.params ?? {}).filter((entry): entry is [string, string] => Boolean(entry[1]))
  const query = new URLSearchParams(given).toString()
  const path =
    route.name === 'container'
      ? ['data', route.database, route.container, route.screen ?? 'items'].map(encodeURIComponent).join('/')
      : route.name === 'load'
        ? 'load'
        : ''
  return `${base}${path}${query && `?${query}`}`
}

/** What the tab of the browser says. */
export function titleOf(route: Route, host: string): string {
  const port = /:\d+$/.exec(host)?.[0] ?? host
  const subject =
    route.name === 'container'
      ? route.screen === 'items'
        ? route.container
        : `${route.container}, ${route.screen}`
      : route.name === 'load'
        ? 'load'
        : ''
  return subject ? `${subject} - mayfly ${port}` : `mayfly ${port}`
}
