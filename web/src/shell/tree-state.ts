/** Which databases are folded in the tree, and whether its drawer is open on narrow windows. */

import { signal } from '@preact/signals'
import { remember, remembered } from '../browser/memory.ts'

const memoryKey = 'mayfly.folded'

export const isDrawerOpen = signal(false)
export const folded = signal<ReadonlySet<string>>(new Set(JSON.parse(remembered(memoryKey) ?? '[]') as string[]))
/** What is typed into the tree's own search; undefined while it is closed. */
export const treeSearch = signal<string | undefined>(undefined)

export function setFolded(database: string, isFolded: boolean): void {
  const next = new Set(folded.peek())
  if (isFolded) next.add(database)
  else next.delete(database)
  folded.value = next
  remember(memoryKey, JSON.stringify([...next]))
}
