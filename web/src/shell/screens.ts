/** The screens of a container: their tabs, keys, and how their code is loaded. */

import type { Api } from '../api/shapes.ts'
import type { IconName } from '../components/icon.tsx'
import type { ScreenName } from '../navigation/routes.ts'
import type { ScreenProps } from '../screens/screen-props.ts'
import type { LoadScreenCode } from './use-screen.ts'

export interface ScreenEntry {
  name: ScreenName
  label: string
  /** Mongo's word, if it has another one. */
  mongoLabel?: string
  /** After `g`. */
  letter?: string
  icon: IconName
  /** Missing: both. */
  api?: Api
  load: LoadScreenCode<ScreenProps>
}

/** In the order of the tabs. */
export const screens: readonly ScreenEntry[] = [
  {
    name: 'items',
    label: 'Items',
    mongoLabel: 'Documents',
    letter: 'i',
    icon: 'item',
    load: async () => (await import('../screens/items/items-screen.tsx')).ItemsScreen,
  },
  {
    name: 'query',
    label: 'Query',
    letter: 'q',
    icon: 'play',
    load: async () => (await import('../screens/query/query-screen.tsx')).QueryScreen,
  },
  {
    name: 'settings',
    label: 'Settings',
    letter: 's',
    icon: 'settings',
    load: async () => (await import('../screens/settings/settings-screen.tsx')).SettingsScreen,
  },
  {
    name: 'expiry',
    label: 'Expiry',
    letter: 'e',
    icon: 'chart',
    load: async () => (await import('../screens/expiry/expiry-screen.tsx')).ExpiryScreen,
  },
  {
    name: 'load',
    label: 'Load',
    letter: 'l',
    icon: 'chart',
    load: async () => (await import('../screens/load/load-screen.tsx')).LoadScreen,
  },
  {
    name: 'feed',
    label: 'Feed',
    letter: 'f',
    icon: 'show',
    load: async () => (await import('../screens/feed/feed-screen.tsx')).FeedScreen,
  },
  {
    name: 'scripts',
    label: 'Scripts',
    icon: 'events',
    api: 'nosql',
    load: async () => (await import('../screens/scripts/scripts-screen.tsx')).ScriptsScreen,
  },
]

export function screensOf(api: Api): ScreenEntry[] {
  return screens.filter(screen => screen.api === undefined || screen.api === api)
}

export function labelOf(screen: ScreenEntry, api: Api): string {
  return (api === 'mongo' && screen.mongoLabel) || screen.label
}
