/** Dark, light, or what the system says: kept in the browser, shown before anything is painted. */

import { effect, signal } from '@preact/signals'
import { remember, remembered } from '../browser/memory.ts'

export type Theme = 'system' | 'light' | 'dark'

const key = 'mayfly.theme'
const stored = remembered(key)

export const theme = signal<Theme>(stored === 'light' || stored === 'dark' ? stored : 'system')

/** True if the page is dark now, by choice or by the system. */
export function isDark(): boolean {
  return theme.value === 'system' ? matchMedia('(prefers-color-scheme: dark)').matches : theme.value === 'dark'
}

/** Light, dark, system, and from the beginning. */
export function nextTheme(): void {
  const opposite = matchMedia('(prefers-color-scheme: dark)').matches ? 'light' : 'dark'
  const order: Theme[] = ['system', opposite, opposite === 'light' ? 'dark' : 'light']
  theme.value = order[(order.indexOf(theme.value) + 1) % order.length]!
}

effect(() => {
  const root = document.documentElement
  if (theme.value === 'system') delete root.dataset.theme
  else root.dataset.theme = theme.value
  remember(key, theme.value === 'system' ? undefined : theme.value)
})
