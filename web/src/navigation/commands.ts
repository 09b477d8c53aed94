/** The commands of the palette: those of the shell, and those of the screen that is shown. */

import { signal } from '@preact/signals'
import { useEffect } from 'preact/hooks'
import type { IconName } from '../components/icon.tsx'

export interface Command {
  id: string
  label: string
  icon: IconName
  detail?: string
  /** Its shortcut, as in keyboard.ts. */
  keys?: string
  /** Why the command is disabled now. */
  disabled?: string
  run: () => void
}

const sources = signal<readonly { commands: readonly Command[] }[]>([])

/** Offers these commands while the component is shown. They are new whenever `depends` changes. */
export function useCommands(commands: readonly Command[], depends: readonly unknown[]): void {
  useEffect(() => {
    const source = { commands }
    sources.value = [...sources.peek(), source]
    return () => {
      sources.value = sources.peek().filter(each => each !== source)
    }
  }, depends)
}

/** All commands, those of the screen first. */
export function allCommands(): Command[] {
  return sources.value.toReversed().flatMap(({ commands }) => commands)
}
